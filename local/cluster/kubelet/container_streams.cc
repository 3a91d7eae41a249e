#include "local/cluster/kubelet/container_streams.h"

#include <algorithm>
#include <csignal>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

#include "local/cluster/objects/fields.h"
#include "local/cluster/processes/image_view.h"
#include "local/cluster/processes/standard_files.h"

namespace berth::local::cluster {
namespace {

bool HasVariable(const std::vector<std::string>& environment, std::string_view name) {
  return std::any_of(environment.begin(), environment.end(), [&](const std::string& entry) {
    return entry.starts_with(name) && entry.size() > name.size() && entry[name.size()] == '=';
  });
}

}  // namespace

ApiError StreamRefusal(std::string message) {
  return {400, "BadRequest", std::move(message), nullptr};
}

ApiResult<ContainerStreams::RunningContainer> ContainerStreams::Find(
    const ProgramRequest& request) const {
  const auto found = services_.pods.find(request.place.pod_uid);
  if (found != services_.pods.end()) {
    const LivePod& live = found->second;
    for (std::size_t at = 0; at < live.run.containers.size(); ++at) {
      const auto process = live.processes.find(at);
      if (live.run.containers[at].name != request.container || process == live.processes.end()) {
        continue;
      }
      return RunningContainer{&live, {request.place.pod_uid, at}, process->second};
    }
  }
  return StreamRefusal(
      fmt::format("container {} is not running in pod {}", request.container, request.place.pod));
}

ApiResult<std::unique_ptr<RunningProgram>> ContainerStreams::Start(
    const ProgramRequest& request, const std::shared_ptr<ProgramObserver>& observer) {
  if (services_.pump == nullptr) {
    return StreamRefusal("programs of pods take no input and give no output here");
  }
  auto target = Find(request);
  if (!target) return target.error();
  if (request.command.empty()) return Attach(request, *target, observer);
  return Execute(request, *target, observer);
}

std::unique_ptr<RunningProgram> ContainerStreams::Attach(
    const ProgramRequest& request, const RunningContainer& target,
    const std::shared_ptr<ProgramObserver>& observer) {
  const Json* declared =
      DeclarationOf(*target.live->pod, target.live->run.containers[target.place.second]);
  StreamPump::Files files;
  if (request.wants_input) files.input = services_.runner.Input(target.process);
  files.is_terminal = declared != nullptr && BoolAt(*declared, {"tty"});
  const auto tap = std::make_shared<std::shared_ptr<void>>();
  StreamPump::Hooks hooks;
  hooks.client_gone = [tap] {};  // the hook's end is the tap's
  const bool once = declared != nullptr && BoolAt(*declared, {"stdinOnce"});
  if (files.input >= 0 && once && !files.is_terminal) {
    hooks.input_closed = [this, process = target.process] {
      services_.tasks.Post([this, process] { services_.runner.CloseInput(process); });
    };
  }
  const std::int64_t session = services_.pump->Add(files, observer, std::move(hooks));
  if (request.wants_output || request.wants_error) {
    *tap = services_.runner.Tap(target.process,
                                [pump = services_.pump, session](std::string_view text) {
                                  pump->Push(session, std::string(text));
                                });
  }
  sessions_[target.place][session] = 0;
  return services_.pump->Handle(session);
}

ApiResult<std::unique_ptr<RunningProgram>> ContainerStreams::Execute(
    const ProgramRequest& request, const RunningContainer& target,
    const std::shared_ptr<ProgramObserver>& observer) {
  const ContainerRun& container = target.live->run.containers[target.place.second];
  const auto program = services_.images.Find(container.image);
  if (!program) return StreamRefusal("the image of the container is not mapped");
  Result<ProcessSpec> spec =
      services_.specs.Make(*target.live->pod, target.live->run, container, *program);
  if (!spec) return StreamRefusal(spec.error().message);
  spec->argv = request.command;
  if (program->image != nullptr) {
    if (const Status found = UseProgramOfImage(*program->image, *spec); !found) {
      return StreamRefusal(found.error().message);
    }
  }
  auto made = StandardFiles::MakeFor({.input = request.wants_input,
                                      .output = request.wants_output,
                                      .error = request.wants_error,
                                      .is_terminal = request.is_terminal});
  if (!made) return ApiError{500, "InternalError", made.error().message, nullptr};
  StandardFiles& files = *made;
  StreamPump::Files ours{.is_terminal = request.is_terminal};
  if (request.is_terminal) {
    ours.output = files.TakeOurs();
    if (request.wants_input) ours.input = fcntl(ours.output, F_DUPFD_CLOEXEC, 3);
  } else {
    ours.input = files.TakeOurs();
    ours.output = std::exchange(files.our_output, -1);
    ours.error = std::exchange(files.our_error, -1);
  }
  const ContainerPlace key = target.place;
  StreamPump::Hooks hooks;
  const auto kept = std::make_shared<std::int64_t>(0);
  hooks.client_gone = [this, key, kept] {
    services_.tasks.Post([this, key, kept] {
      const auto sessions = sessions_.find(key);
      if (sessions == sessions_.end()) return;
      const auto session = sessions->second.find(*kept);
      if (session == sessions->second.end()) return;
      services_.runner.Signal(session->second, SIGKILL);
    });
  };
  StreamPump& pump = *services_.pump;
  const std::int64_t session = pump.Add(ours, observer, std::move(hooks));
  *kept = session;
  spec->beside = target.process;
  spec->record_path += fmt::format(".exec{}", session);
  spec->files = ProcessFiles{files.input, files.output, files.error, request.is_terminal};
  if (request.is_terminal && !HasVariable(spec->env, "TERM")) spec->env.push_back("TERM=xterm");
  const auto spawned = services_.runner.Spawn(*spec, [this, &pump, session, key](ProcessExit exit) {
    pump.End(session, {exit.exit_code, ""});
    services_.tasks.Post([this, session, key] {
      const auto sessions = sessions_.find(key);
      if (sessions != sessions_.end()) sessions->second.erase(session);
    });
  });
  if (spawned) {
    sessions_[key][session] = *spawned;
  } else {
    pump.End(session, {0, spawned.error().message});
  }
  return pump.Handle(session);
}

// The container has ended: so do the programs beside its own.
void ContainerStreams::End(const ContainerPlace& place) {
  const auto sessions = sessions_.find(place);
  if (sessions == sessions_.end()) return;
  for (const auto& [session, process] : sessions->second) {
    if (process == 0) {
      services_.pump->End(session, {});
    } else {
      services_.runner.Signal(process, SIGKILL);
    }
  }
  sessions_.erase(sessions);
}

std::vector<ProcessId> ContainerStreams::ProgramsBeside(const ContainerPlace& place) const {
  std::vector<ProcessId> programs;
  const auto sessions = sessions_.find(place);
  if (sessions == sessions_.end()) return programs;
  for (const auto& [session, process] : sessions->second) {
    if (process != 0) programs.push_back(process);
  }
  return programs;
}

std::vector<ProcessId> ContainerStreams::ProgramsBesideAll(const std::string& pod_uid) const {
  std::vector<ProcessId> programs;
  for (auto at = sessions_.lower_bound({pod_uid, 0});
       at != sessions_.end() && at->first.first == pod_uid; ++at) {
    for (const auto& [session, process] : at->second) {
      if (process != 0) programs.push_back(process);
    }
  }
  return programs;
}

}  // namespace berth::local::cluster

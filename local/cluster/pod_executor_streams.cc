// The executor's part in exec, attach and portforward.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>

#include "local/cluster/fields.h"
#include "local/cluster/image_view.h"
#include "local/cluster/pod_executor.h"
#include "local/cluster/pod_processes.h"
#include "local/cluster/standard_files.h"

namespace berth::local::cluster {
namespace {

ApiError StreamRefusal(std::string message) {
  return {400, "BadRequest", std::move(message), nullptr};
}

std::string TextOf(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool HasVariable(const std::vector<std::string>& environment, std::string_view name) {
  return std::any_of(environment.begin(), environment.end(), [&](const std::string& entry) {
    return entry.starts_with(name) && entry.size() > name.size() && entry[name.size()] == '=';
  });
}

const Json* DeclarationOf(const Json& pod, const ContainerRun& run) {
  for (const Json& container :
       ArrayAt(pod, {"spec", run.is_init ? "initContainers" : "containers"})) {
    if (StringAt(container, {"name"}) == run.name) return &container;
  }
  return nullptr;
}

}  // namespace

struct PodExecutor::RunningContainer {
  Live* live = nullptr;
  std::string uid;
  std::size_t at = 0;
  ProcessId process = 0;
};

// Callbacks of the pump and of processes come from other threads.
void PodExecutor::PostAlive(std::function<void()> task) {
  services_.executor.Post([task = std::move(task), alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) task();
  });
}

ApiResult<PodExecutor::RunningContainer> PodExecutor::FindContainerOf(
    const ProgramRequest& request) {
  const auto found = live_by_uid_.find(request.place.pod_uid);
  if (found != live_by_uid_.end()) {
    Live& live = found->second;
    for (std::size_t at = 0; at < live.run.containers.size(); ++at) {
      const auto process = live.processes.find(at);
      if (live.run.containers[at].name != request.container || process == live.processes.end()) {
        continue;
      }
      return RunningContainer{&live, request.place.pod_uid, at, process->second};
    }
  }
  return StreamRefusal(
      fmt::format("container {} is not running in pod {}", request.container, request.place.pod));
}

ApiResult<std::unique_ptr<RunningProgram>> PodExecutor::StartProgram(
    const ProgramRequest& request, const std::shared_ptr<ProgramObserver>& observer) {
  if (services_.streams == nullptr) {
    return StreamRefusal("programs of pods take no input and give no output here");
  }
  auto target = FindContainerOf(request);
  if (!target) return target.error();
  if (request.command.empty()) return Attach(request, *target, observer);
  return Execute(request, *target, observer);
}

std::unique_ptr<RunningProgram> PodExecutor::Attach(
    const ProgramRequest& request, const RunningContainer& target,
    const std::shared_ptr<ProgramObserver>& observer) {
  const Json* declared = DeclarationOf(*target.live->pod, target.live->run.containers[target.at]);
  StreamPump::Files files;
  if (request.wants_input) files.input = services_.runner.Input(target.process);
  files.is_terminal = declared != nullptr && BoolAt(*declared, {"tty"});
  const auto tap = std::make_shared<std::shared_ptr<void>>();
  StreamPump::Hooks hooks;
  hooks.client_gone = [tap] {};  // the hook's end is the tap's
  const bool once = declared != nullptr && BoolAt(*declared, {"stdinOnce"});
  if (files.input >= 0 && once && !files.is_terminal) {
    hooks.input_closed = [this, process = target.process] {
      PostAlive([this, process] { services_.runner.CloseInput(process); });
    };
  }
  const std::int64_t session = services_.streams->Add(files, observer, std::move(hooks));
  if (request.wants_output || request.wants_error) {
    *tap = services_.runner.Tap(target.process,
                                [streams = services_.streams, session](std::string_view text) {
                                  streams->Push(session, std::string(text));
                                });
  }
  streams_[{target.uid, target.at}][session] = 0;
  return services_.streams->Handle(session);
}

ApiResult<std::unique_ptr<RunningProgram>> PodExecutor::Execute(
    const ProgramRequest& request, const RunningContainer& target,
    const std::shared_ptr<ProgramObserver>& observer) {
  const ContainerRun& container = target.live->run.containers[target.at];
  const auto program = services_.images.Find(container.image);
  if (!program) return StreamRefusal("the image of the container is not mapped");
  Result<ProcessSpec> spec = MakeSpec(*target.live->pod, target.live->run, container, *program);
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
  const std::pair<std::string, std::size_t> key{target.uid, target.at};
  StreamPump::Hooks hooks;
  const auto kept = std::make_shared<std::int64_t>(0);
  hooks.client_gone = [this, key, kept] {
    PostAlive([this, key, kept] {
      const auto sessions = streams_.find(key);
      if (sessions == streams_.end()) return;
      const auto session = sessions->second.find(*kept);
      if (session == sessions->second.end()) return;
      services_.runner.Signal(session->second, SIGKILL);
    });
  };
  StreamPump& streams = *services_.streams;
  const std::int64_t session = streams.Add(ours, observer, std::move(hooks));
  *kept = session;
  spec->beside = target.process;
  spec->record_path += fmt::format(".exec{}", session);
  spec->files = ProcessFiles{files.input, files.output, files.error, request.is_terminal};
  if (request.is_terminal && !HasVariable(spec->env, "TERM")) spec->env.push_back("TERM=xterm");
  const auto spawned =
      services_.runner.Spawn(*spec, [this, &streams, session, key](ProcessExit exit) {
        streams.End(session, {exit.exit_code, ""});
        PostAlive([this, session, key] {
          const auto sessions = streams_.find(key);
          if (sessions != streams_.end()) sessions->second.erase(session);
        });
      });
  if (spawned) {
    streams_[key][session] = *spawned;
  } else {
    streams.End(session, {0, spawned.error().message});
  }
  return streams.Handle(session);
}

// The container has ended: so do the programs beside its own.
void PodExecutor::EndStreams(const std::string& uid, std::size_t at) {
  const auto sessions = streams_.find({uid, at});
  if (sessions == streams_.end()) return;
  for (const auto& [session, process] : sessions->second) {
    if (process == 0) {
      services_.streams->End(session, {});
    } else {
      services_.runner.Signal(process, SIGKILL);
    }
  }
  streams_.erase(sessions);
}

ApiResult<std::string> PodExecutor::FindPort(const PodPlace& place, std::uint16_t port) const {
  const auto found = live_by_uid_.find(place.pod_uid);
  if (found == live_by_uid_.end() || found->second.processes.empty()) {
    return StreamRefusal(fmt::format("pod {} is not running", place.pod));
  }
  const Live& live = found->second;
  std::set<pid_t> leaders;
  for (const auto& [at, process] : live.processes) {
    if (const int id = services_.runner.SystemId(process); id > 0) leaders.insert(id);
  }
  const auto streams = streams_.lower_bound({place.pod_uid, 0});
  for (auto at = streams; at != streams_.end() && at->first.first == place.pod_uid; ++at) {
    for (const auto& [session, process] : at->second) {
      const int id = process == 0 ? 0 : services_.runner.SystemId(process);
      if (id > 0) leaders.insert(id);
    }
  }
  std::set<std::string> sockets = ListeningSockets(TextOf("/proc/net/tcp"), live.run.address, port);
  sockets.merge(ListeningSockets(TextOf("/proc/net/tcp6"), live.run.address, port));
  for (const auto& [leader, processes] : ProcessesOf(leaders, AllProcesses())) {
    if (HasSocket(processes, sockets)) return live.run.address;
  }
  return StreamRefusal(fmt::format("no program of pod {} listens on port {}", place.pod, port));
}

}  // namespace berth::local::cluster

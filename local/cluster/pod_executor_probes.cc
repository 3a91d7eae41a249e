// The executor's part in probes: verdicts on containers, and commands that run in them.
#include <csignal>

#include <fmt/format.h>

#include "base/seconds.h"
#include "local/cluster/fields.h"
#include "local/cluster/image_view.h"
#include "local/cluster/pod_executor.h"

namespace berth::local::cluster {
namespace {

constexpr std::int64_t kProbeOutputBytes = std::int64_t{64} * 1024;

}  // namespace

void PodExecutor::StartProbes(Live& live, std::size_t at, const Json& container) {
  if (probes_ == nullptr) return;
  ContainerRun& run = live.run.containers[at];
  run.has_started = !HasProbe(container, ProbeKind::kStartup);
  run.passes_readiness = !HasProbe(container, ProbeKind::kReadiness);
  probes_->Start({UidOf(*live.pod), at}, container, live.run.address);
}

void PodExecutor::OnVerdict(const PodProbes::Container& place, ProbeKind kind, bool passed,
                            const std::string& why) {
  const auto found = live_by_uid_.find(place.first);
  if (found == live_by_uid_.end()) return;
  Live& live = found->second;
  ContainerRun& container = live.run.containers[place.second];
  if (!container.is_running()) return;
  if (!passed) {
    events_.Record(*live.pod, EventType::kWarning, "Unhealthy",
                   fmt::format("{} probe failed: {}", NameOf(kind), why));
  }
  if (kind == ProbeKind::kReadiness) container.passes_readiness = passed;
  if (kind == ProbeKind::kStartup && passed) container.has_started = true;
  if (kind != ProbeKind::kReadiness && !passed) KillForProbe(live, place.second, kind);
  pods_.Add(KeyOf(*live.pod));
}

// The restart policy decides what follows the end.
void PodExecutor::KillForProbe(Live& live, std::size_t at, ProbeKind kind) {
  const auto process = live.processes.find(at);
  if (process == live.processes.end()) return;
  probes_->Stop({UidOf(*live.pod), at});
  events_.Record(
      *live.pod, EventType::kNormal, "Killing",
      fmt::format("Container {} failed {} probe, will be restarted", live.run.containers[at].name,
                  kind == ProbeKind::kLiveness ? "liveness" : "startup"));
  const ProcessId id = process->second;
  services_.runner.Signal(id, SIGTERM);
  const auto grace = BoundedSeconds(
      IntAt(*live.pod, {"spec", "terminationGracePeriodSeconds"}, 30));  // kubelet's default
  services_.executor.PostAfter(grace, [this, id, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) services_.runner.Signal(id, SIGKILL);  // ids are never reused
  });
}

void PodExecutor::RunProbeCommand(const PodProbes::Container& place,
                                  const std::vector<std::string>& command, Duration timeout,
                                  const std::function<void(ProbeAnswer)>& done) {
  const auto found = live_by_uid_.find(place.first);
  if (found == live_by_uid_.end()) return done({false, "the pod has ended"});
  const Live& live = found->second;
  const ContainerRun& container = live.run.containers[place.second];
  const auto program = services_.images.Find(container.image);
  if (!program) return done({false, "the image is not mapped"});
  Result<ProcessSpec> spec = MakeSpec(*live.pod, live.run, container, *program);
  if (!spec) return done({false, spec.error().message});
  spec->argv = command;
  const auto process = live.processes.find(place.second);
  if (process == live.processes.end()) return done({false, "the container has ended"});
  spec->beside = process->second;  // the running container has the mounts
  if (program->image != nullptr) {
    if (const Status named = UseProgramOfImage(*program->image, *spec); !named) {
      return done({false, named.error().message});
    }
  }
  spec->keeps_input = false;
  spec->is_terminal = false;
  spec->record_path += ".probe";
  spec->output_path += ".probe";
  spec->most_output_bytes = kProbeOutputBytes;
  const auto spawned = services_.runner.Spawn(*spec, [done](ProcessExit exit) {
    const bool good = exit.exit_code == 0;
    done({good, good ? "" : fmt::format("command ended with exit code {}", exit.exit_code)});
  });
  if (!spawned) return done({false, spawned.error().message});
  services_.executor.PostAfter(timeout, [this, id = *spawned, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) services_.runner.Signal(id, SIGKILL);
  });
}

}  // namespace berth::local::cluster

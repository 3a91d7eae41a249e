#include "local/cluster/kubelet/container_probes.h"

#include <csignal>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/seconds.h"
#include "local/cluster/processes/image_view.h"

namespace berth::local::cluster {
namespace {

constexpr std::int64_t kProbeOutputBytes = std::int64_t{64} * 1024;

}  // namespace

ContainerProbes::ContainerProbes(Services services) : services_(std::move(services)) {
  if (services_.caller == nullptr) return;
  probes_ = std::make_unique<PodProbes>(
      services_.executor, *services_.caller,
      [this](const ContainerPlace& place, const std::vector<std::string>& command, Duration timeout,
             const std::function<void(ProbeAnswer)>& done) {
        RunCommand(place, command, timeout, done);
      },
      [this](const ContainerPlace& place, ProbeKind kind, bool passed, const std::string& why) {
        OnVerdict(place, kind, passed, why);
      });
}

void ContainerProbes::Stop(const ContainerPlace& place) {
  if (probes_ != nullptr) probes_->Stop(place);
}

void ContainerProbes::Start(LivePod& live, std::size_t at, const Json& container) {
  if (probes_ == nullptr) return;
  ContainerRun& run = live.run.containers[at];
  run.has_started = !HasProbe(container, ProbeKind::kStartup);
  run.passes_readiness = !HasProbe(container, ProbeKind::kReadiness);
  probes_->Start({UidOf(*live.pod), at}, container, live.run.address);
}

void ContainerProbes::OnVerdict(const ContainerPlace& place, ProbeKind kind, bool passed,
                                const std::string& why) {
  const auto found = services_.pods.find(place.first);
  if (found == services_.pods.end()) return;
  LivePod& live = found->second;
  ContainerRun& container = live.run.containers[place.second];
  if (!container.is_running()) return;
  if (!passed) {
    services_.events.Record(*live.pod, EventType::kWarning, "Unhealthy",
                            fmt::format("{} probe failed: {}", NameOf(kind), why));
  }
  if (kind == ProbeKind::kReadiness) container.passes_readiness = passed;
  if (kind == ProbeKind::kStartup && passed) container.has_started = true;
  if (kind != ProbeKind::kReadiness && !passed) Kill(live, place.second, kind);
  services_.on_verdict(KeyOf(*live.pod));
}

// The restart policy decides what follows the end.
void ContainerProbes::Kill(LivePod& live, std::size_t at, ProbeKind kind) {
  const auto process = live.processes.find(at);
  if (process == live.processes.end()) return;
  probes_->Stop({UidOf(*live.pod), at});
  services_.events.Record(
      *live.pod, EventType::kNormal, "Killing",
      fmt::format("Container {} failed {} probe, will be restarted", live.run.containers[at].name,
                  kind == ProbeKind::kLiveness ? "liveness" : "startup"));
  const ProcessId id = process->second;
  services_.runner.Signal(id, SIGTERM);
  const auto grace = BoundedSeconds(
      IntAt(*live.pod, {"spec", "terminationGracePeriodSeconds"}, 30));  // kubelet's default
  services_.tasks.PostAfter(grace, [this, id] {
    services_.runner.Signal(id, SIGKILL);  // ids are never reused
  });
}

void ContainerProbes::RunCommand(const ContainerPlace& place,
                                 const std::vector<std::string>& command, Duration timeout,
                                 const std::function<void(ProbeAnswer)>& done) {
  const auto found = services_.pods.find(place.first);
  if (found == services_.pods.end()) return done({false, "the pod has ended"});
  const LivePod& live = found->second;
  const ContainerRun& container = live.run.containers[place.second];
  const auto program = services_.images.Find(container.image);
  if (!program) return done({false, "the image is not mapped"});
  Result<ProcessSpec> spec = services_.specs.Make(*live.pod, live.run, container, *program);
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
  services_.tasks.PostAfter(timeout,
                            [this, id = *spawned] { services_.runner.Signal(id, SIGKILL); });
}

}  // namespace berth::local::cluster

// local/cluster/kubelet/container_probes.h — the executor's part in probes: the effects of verdicts
// on containers, and commands that run in containers.
//
// A container that fails its startup or liveness probe gets SIGTERM and, after the pod's grace,
// SIGKILL; its restart policy decides what follows.
//
// Threads: tasks of one Executor.
// Source: Kubernetes "Configure Liveness, Readiness and Startup Probes".
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "local/apiserver/api.h"
#include "local/cluster/kubelet/image_map.h"
#include "local/cluster/kubelet/live_pods.h"
#include "local/cluster/kubelet/process_specs.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/objects/object_events.h"
#include "local/cluster/objects/owned_tasks.h"
#include "local/cluster/probes/pod_probes.h"
#include "local/cluster/processes/process_host.h"

namespace berth::local::cluster {

class ContainerProbes {
 public:
  struct Services {
    Executor& executor;
    const OwnedTasks& tasks;
    ProcessRunner& runner;
    const ImageMap& images;
    const ProcessSpecs& specs;
    ObjectEvents& events;
    LivePods& pods;
    ProbeCaller* caller = nullptr;  // null: every probe passes
    // Called after each verdict: the pod's status may change.
    std::function<void(const ObjectKey& pod)> on_verdict;
  };
  explicit ContainerProbes(Services services);
  ContainerProbes(const ContainerProbes&) = delete;
  ContainerProbes& operator=(const ContainerProbes&) = delete;

  // Call it when the container at `at` has started. `container`: its declaration in the pod's spec.
  void Start(LivePod& live, std::size_t at, const Json& container);
  void Stop(const ContainerPlace& place);

 private:
  void OnVerdict(const ContainerPlace& place, ProbeKind kind, bool passed, const std::string& why);
  void Kill(LivePod& live, std::size_t at, ProbeKind kind);
  void RunCommand(const ContainerPlace& place, const std::vector<std::string>& command,
                  Duration timeout, const std::function<void(ProbeAnswer)>& done);

  const Services services_;
  std::unique_ptr<PodProbes> probes_;  // null: every probe passes
};

}  // namespace berth::local::cluster

// local/cluster/kubelet/container_streams.h — the executor's part in exec and attach: sessions of
// StreamPump at containers.
//
//   attach: client ◀─StreamPump─▶ input and log of the container's program
//   exec:   client ◀─StreamPump─▶ a program beside the container's
//
// Threads: tasks of one Executor; callbacks of the pump and of processes come from other threads.
// Errors: 400 BadRequest, 500 InternalError.
// Source: Kubernetes API concepts, pods/exec and pods/attach.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "local/apiserver/pod_streams.h"
#include "local/cluster/kubelet/image_map.h"
#include "local/cluster/kubelet/live_pods.h"
#include "local/cluster/kubelet/process_specs.h"
#include "local/cluster/objects/owned_tasks.h"
#include "local/cluster/processes/process_host.h"
#include "local/cluster/processes/stream_pump.h"

namespace berth::local::cluster {

// 400 BadRequest.
ApiError StreamRefusal(std::string message);

class ContainerStreams {
 public:
  struct Services {
    const OwnedTasks& tasks;
    ProcessRunner& runner;
    const ImageMap& images;
    const ProcessSpecs& specs;
    const LivePods& pods;
    StreamPump* pump = nullptr;  // null: no program takes input
  };
  explicit ContainerStreams(const Services& services) : services_(services) {}
  ContainerStreams(const ContainerStreams&) = delete;
  ContainerStreams& operator=(const ContainerStreams&) = delete;

  ApiResult<std::unique_ptr<RunningProgram>> Start(
      const ProgramRequest& request, const std::shared_ptr<ProgramObserver>& observer);
  // Ends the sessions of a container that has ended, and the programs beside its own.
  void End(const ContainerPlace& place);

  // The programs that run beside a container's own.
  std::vector<ProcessId> ProgramsBeside(const ContainerPlace& place) const;
  // The programs that run beside those of all containers of a pod.
  std::vector<ProcessId> ProgramsBesideAll(const std::string& pod_uid) const;

 private:
  struct RunningContainer {
    const LivePod* live = nullptr;
    ContainerPlace place;
    ProcessId process = 0;
  };
  ApiResult<RunningContainer> Find(const ProgramRequest& request) const;
  std::unique_ptr<RunningProgram> Attach(const ProgramRequest& request,
                                         const RunningContainer& target,
                                         const std::shared_ptr<ProgramObserver>& observer);
  ApiResult<std::unique_ptr<RunningProgram>> Execute(
      const ProgramRequest& request, const RunningContainer& target,
      const std::shared_ptr<ProgramObserver>& observer);

  const Services services_;
  // Sessions, and the process that runs for each; 0: an attached session.
  std::map<ContainerPlace, std::map<std::int64_t, ProcessId>> sessions_;
};

}  // namespace berth::local::cluster

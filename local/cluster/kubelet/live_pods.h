// local/cluster/kubelet/live_pods.h — the pods that this machine runs, as the parts of the executor
// share them.
//
// Threads: tasks of one Executor.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "local/apiserver/api.h"
#include "local/cluster/kubelet/pod_lifecycle.h"
#include "local/cluster/kubelet/volume_writer.h"
#include "local/cluster/processes/process_host.h"

namespace berth::local::cluster {

struct LivePod {
  Object pod;  // the pod's state at its start; read for names only
  PodRun run;
  std::map<std::size_t, ProcessId> processes;  // by container
  VolumeState volumes;
};

using LivePods = std::map<std::string, LivePod>;  // by uid

// A container of a live pod: uid of the pod, place in PodRun.
using ContainerPlace = std::pair<std::string, std::size_t>;

}  // namespace berth::local::cluster

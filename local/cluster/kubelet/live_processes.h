// local/cluster/kubelet/live_processes.h — the facts in /proc about the programs of live pods:
// their usage, and the ports at which they listen.
//
// Threads: tasks of one Executor. Linux only.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "local/apiserver/api.h"
#include "local/apiserver/pod_streams.h"
#include "local/cluster/kubelet/container_streams.h"
#include "local/cluster/kubelet/live_pods.h"
#include "local/cluster/processes/process_host.h"
#include "local/cluster/usage/pod_usage.h"

namespace berth::local::cluster {

class LiveProcesses {
 public:
  LiveProcesses(const LivePods& pods, const ContainerStreams& streams, ProcessRunner& runner)
      : pods_(pods), streams_(streams), runner_(runner) {}

  // The usage of the programs up to `now`. A program of exec counts for the container in which it
  // runs.
  UsageReading ReadUsage(WallTime now) const;
  // The address at which a program of the pod listens on the TCP port. 400 BadRequest: no program
  // of the pod listens there.
  ApiResult<std::string> FindPort(const PodPlace& place, std::uint16_t port) const;

 private:
  const LivePods& pods_;
  const ContainerStreams& streams_;
  ProcessRunner& runner_;
};

}  // namespace berth::local::cluster

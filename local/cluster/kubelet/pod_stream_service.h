// local/cluster/kubelet/pod_stream_service.h — PodStreams in tasks of the cluster's executor.
//
// Threads: any. May outlive the cluster, not the executor; requests after the executor's end are
// dropped.
#pragma once

#include "base/executor.h"
#include "local/apiserver/pod_streams.h"
#include "local/cluster/kubelet/pod_executor.h"

namespace berth::local::cluster {

class PodStreamService final : public PodStreams {
 public:
  PodStreamService(Executor& executor, PodExecutor& pods) : executor_(executor), pods_(pods) {}

  void StartProgram(const ProgramRequest& request, std::shared_ptr<ProgramObserver> observer,
                    Done<std::unique_ptr<RunningProgram>> done) override;
  void FindPort(const PodPlace& place, std::uint16_t port, Done<std::string> done) override;

 private:
  Executor& executor_;
  PodExecutor& pods_;  // used in tasks only
};

}  // namespace berth::local::cluster

// local/cluster/usage/usage_service.h — answers requests of metrics.k8s.io with the usage of pods'
// programs.
//
//     every 15 s, while programs run ─▶ reading ─┐
//     request ─▶ reading ────────────────────────┴─▶ UsageBetween ─▶ UsageAnswer
//
// Threads: Start by the owner; Answer by any thread but the executor's, since it blocks. Destroy
// the service when the executor has stopped and no call runs.
#pragma once

#include <deque>

#include "base/clock.h"
#include "base/executor.h"
#include "local/apiserver/api.h"
#include "local/cluster/kubelet/pod_executor.h"
#include "local/cluster/usage/usage_api.h"
#include "net/http.h"

namespace berth::local::cluster {

class UsageService {
 public:
  UsageService(Api& api, Executor& executor, const Clock& clock, const PodExecutor& pods);
  UsageService(const UsageService&) = delete;
  UsageService& operator=(const UsageService&) = delete;

  void Start();
  net::Response Answer(const net::Request& request);

 private:
  void ReadLater();
  std::map<std::string, PodUsage> Measure();  // in tasks

  Api& api_;
  Executor& executor_;
  const Clock& clock_;
  const PodExecutor& pods_;
  std::deque<UsageReading> kept_;  // the oldest first; used in tasks
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::local::cluster

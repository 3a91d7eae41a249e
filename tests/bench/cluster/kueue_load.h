// tests/bench/cluster/kueue_load.h — the load of Kueue's scheduler performance test: 5 cohorts of 6
// ClusterQueues, in each 350 small, 100 medium and 50 large Workloads that come at their own pace.
//
// Threads: the strand of the manager.
//
// Source: Kueue test/performance/scheduler, configs/baseline.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/queues.h"
#include "base/clock.h"
#include "kube/client/api_client.h"
#include "kube/runtime/manager.h"
#include "tests/bench/cluster/job_player.h"

namespace berth::bench {

class KueueLoad {
 public:
  // `share`: percentage of each class' Workloads. `refused` is called with the reason where the API
  // server refuses an object: the load cannot go on.
  KueueLoad(kube::Manager& manager, const Clock& clock, int share,
            std::function<void(const std::string& error)> refused);

  void MakeQueues();
  // Call when no create of MakeQueues is open.
  void StartGenerators();
  bool has_open_creates() const { return open_creates_ > 0; }
  // Whether every Workload has finished and every queue says that nothing waits or reserves.
  bool IsDone() const;
  kube::Json Report(Duration wall) const;
  std::size_t finished() const { return player_.finished(); }
  std::size_t expected() const { return expected_; }

 private:
  struct WorkloadClass;
  static const std::vector<WorkloadClass>& Classes();
  static std::map<std::string, Duration> RunTimes();

  void Create(const api::ResourceKind& kind, const std::string& space, const kube::Json& object);
  void Generate(const WorkloadClass& kind, const std::string& queue, int number, int count,
                SteadyTime due);

  kube::ApiClient& client_;
  const Clock& clock_;
  const int share_;
  std::function<void(const std::string& error)> refused_;
  std::size_t expected_ = 0;
  std::size_t open_creates_ = 0;
  std::vector<std::string> names_;  // names of ClusterQueues
  JobPlayer player_;
  const kube::Informer<api::ClusterQueue>& queues_;
};

}  // namespace berth::bench

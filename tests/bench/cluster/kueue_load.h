// tests/bench/cluster/kueue_load.h — plays a load of Kueue's scheduler performance tests
// (load_tests.h): makes the queues and nodes, and creates the Workloads at their pace.
//
// Threads: the strand of the manager.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/queues.h"
#include "base/clock.h"
#include "kube/client/api_client.h"
#include "kube/runtime/manager.h"
#include "tests/bench/cluster/job_player.h"
#include "tests/bench/cluster/load_tests.h"

namespace berth::bench {

class KueueLoad {
 public:
  // `test` must outlive the load. `share`: percentage of each class' Workloads, rounded up.
  // `refused` is called with the reason where the API server refuses an object: the load cannot go
  // on.
  KueueLoad(kube::Manager& manager, const Clock& clock, const LoadTest& test, int share,
            std::function<void(const std::string& error)> refused);

  void MakeQueues();  // and the nodes
  // Call when no create of MakeQueues is open.
  void StartGenerators();
  bool has_open_creates() const { return open_creates_ > 0; }
  // Whether every LocalQueue and Workload is created.
  bool AreCreated() const;
  // Whether every Workload has finished and every queue says that nothing waits or reserves.
  bool IsDone() const;
  kube::Json Report(Duration wall) const;
  std::size_t finished() const { return player_.finished(); }
  std::size_t expected() const { return expected_; }

 private:
  struct Place {
    std::string space;  // a namespace; its LocalQueue has the same name
    std::string queue;  // the ClusterQueue
  };

  struct Creation {
    api::ResourceKind kind;
    std::string space;
    kube::Json object;
    std::function<void(const Result<kube::JsonPtr>&)> done;
  };

  void Send(Creation creation);
  void SendMore();
  void Create(const api::ResourceKind& kind, const std::string& space, const kube::Json& object);
  void MakeNodes();
  // Repeats a creation that the API server did not answer.
  void Generate(const WorkloadClass& kind, const std::string& queue, int number, int count,
                SteadyTime due);

  kube::ApiClient& client_;
  const Clock& clock_;
  const LoadTest& test_;
  const int share_;
  std::function<void(const std::string& error)> refused_;
  std::size_t expected_ = 0;   // Workloads
  std::size_t to_create_ = 0;  // Workloads, or pods of groups
  std::deque<Creation> waiting_;
  std::size_t sent_ = 0;          // creations without an answer
  std::size_t open_creates_ = 0;  // creations of queues and nodes
  std::size_t created_ = 0;       // the part of to_create_ that exists
  std::vector<Place> places_;
  JobPlayer player_;
  const kube::Informer<api::ClusterQueue>& queues_;
};

}  // namespace berth::bench

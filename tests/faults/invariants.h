// tests/faults/invariants.h — the invariants, checked with every write.
//
//     store's event ─See─▶ Truth, rules ─▶ violation()
//     transport's answer ─OnAnswer─▶ every acknowledged write must be in the store
//
// Rules (their names stand in reports):
//   job-without-admission  a job is started although its workload is not admitted
//   wrong-place            … or without the node labels of its assigned flavors
//   quota-exceeded         quota is reserved that no recent state of the queues allows; a slice of
//                          an elastic job may replace one of no less in a queue that lost its
//                          quota; pods that a slice takes back were free a moment ago
//   wrong-namespace        quota is reserved in a queue that does not take the namespace
//   node-promised-twice    a node is promised to more pods than it has room for
//   reserved-in-stopped    quota is reserved in a queue that has been stopped for a while
//   unready-check          a workload is admitted before its checks are ready
//   flavors-changed        an admitted workload gets other flavors or another queue
//   released-while-running quota is given back while pods of the job still run
//   two-workloads          a job has two workloads
//   finished-undone        a finished workload loses its condition Finished
//   request-twice          a ProvisioningRequest with the name of an earlier one, or two live ones
//                          for the same pods and check that are not of one race, nor of a job that
//                          is asked for in parts
//   too-many-pods          more pods run than the job requests, or than quota is reserved for
//   started-too-wide       a job is started with more parallelism than quota is reserved for
//   wrong-usage            an admission states other amounts than requests × counts
//   unlawful-victim        a workload is preempted that the preemptor's policies protect, or for
//                          fair shares that its queue does not exceed (fair_law.h)
//   lost-write             an acknowledged write is not in the store
//   write-without-lease    a replica writes while another holds the lease
//   hot-loop               an object is written more often than any user needs
//
// and strict-order, priority-order of order_law.h, fair-order of fair_order.h.
//
// Usage is requests × granted counts (truth.h); amounts in status fields do not count.
//
// "Recent": decisions may rest on facts up to `staleness` old.
//
// Threads: one.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "kube/client/transport.h"
#include "tests/faults/fair_law.h"
#include "tests/faults/fair_order.h"
#include "tests/faults/order_law.h"
#include "tests/faults/quota_law.h"
#include "tests/faults/truth.h"

namespace berth::sim {

struct Violation {
  std::string rule;
  std::string text;
};

struct InvariantsOptions {
  Duration staleness = std::chrono::seconds(2);
  int writes_per_minute = 90;  // the limit for one object
  // The clock jumps forward: a controller that waits for pods to stop may give up
  // early.
  bool time_leaps = false;
  // The time a workload must have waited without faults before order rules apply.
  Duration order_window = std::chrono::seconds(5);
  // The end of the present fault; null: no faults.
  std::function<SteadyTime()> trouble_until;
  FairStrategies fair_strategies;
  bool fair_sharing = false;
};

class Invariants {
 public:
  enum class Actor { kStory, kPrograms };

  explicit Invariants(InvariantsOptions options)
      : options_(std::move(options)), order_(options_.order_window) {}

  void See(const local::StoreEvent& event, Actor actor, SteadyTime now);
  void OnAnswer(const kube::ApiRequest& request, const kube::ApiResponse& response);
  // A request of a replica, which must hold the lease if there are several.
  void OnRequest(const kube::ApiRequest& request, const std::string& identity);

  const Truth& truth() const { return truth_; }
  const QuotaLaw& law() const { return laws_.back().law; }
  SteadyTime now() const { return now_; }  // when the last event was
  Duration staleness() const { return options_.staleness; }
  // The first violation; nullopt: none.
  const std::optional<Violation>& violation() const { return violation_; }
  void Report(const std::string& rule, const std::string& text);
  std::int64_t leader_changes() const { return leader_changes_; }
  // Writes that were answered, with those that had no effect; without lease renewals.
  std::int64_t write_requests() const { return write_requests_; }
  void ExpectNoWriteSince(std::int64_t requests);
  // The number of comparisons of the heads of two ClusterQueues by their shares.
  int fair_comparisons() const { return fair_order_.compared(); }
  // The controllers forget deleted requests in a crash.
  void OnCrash() { requests_of_.clear(); }

 private:
  struct Dated {
    SteadyTime until = SteadyTime::max();
    QuotaLaw law;
    FairLaw fair;
  };

  void SeeLease(const local::StoreEvent& event);
  void CheckUsage(const WorkloadFacts& workload);
  void CheckOrder(const WorkloadFacts& workload);
  void CheckVictim(const WorkloadFacts& victim);
  std::optional<std::string> WhyUnlawful(const WorkloadFacts& preemptor, const std::string& queue,
                                         const WorkloadFacts& victim) const;
  void CheckFairOrder(const WorkloadFacts* before, const WorkloadFacts* now);
  void NoteUsage();
  bool IsQuiet() const;
  void SeeJob(const JobFacts* before, const JobFacts& now);
  void SeeWorkload(const WorkloadFacts* before, const WorkloadFacts* now);
  bool TakesNoMore(const WorkloadFacts& workload, const QuotaLaw::What& what,
                   std::int64_t amount) const;
  void CheckReservation(const WorkloadFacts& workload);
  void CheckNodes(const WorkloadFacts& workload);
  void NoteSelections();
  void NoteTakenBack(const WorkloadFacts& before, const WorkloadFacts& now);
  std::map<std::string, FlavorAmounts> UsageBeforeTakingBack() const;
  void CheckRelease(const WorkloadFacts& before, const WorkloadFacts* now);
  void SeeRequest(const RequestFacts& request);
  void SeePod(const PodFacts& pod);
  void SeeQueues(SteadyTime now);
  void CountWrite(const local::ObjectKey& key, SteadyTime now);

  InvariantsOptions options_;
  Truth truth_;
  std::optional<Violation> violation_;
  std::deque<Dated> laws_{Dated{}};
  OrderLaw order_;
  FairOrder fair_order_;
  std::deque<std::pair<SteadyTime, support::UsageByQueue>> usages_;  // recent ones
  std::map<std::string, SteadyTime> edited_;         // UIDs of jobs that users changed → when
  std::map<std::string, SteadyTime> reprioritised_;  // UIDs of workloads → when
  std::map<std::string, std::set<std::string>> requests_of_;  // workload UID → names ever used
  std::map<Key, SteadyTime> workload_gone_;                   // job "ns/name" → when
  SteadyTime now_{};
  Actor actor_ = Actor::kPrograms;
  std::map<std::pair<std::string, std::string>, SteadyTime> selected_;  // queue, namespace → when
  std::map<std::string, std::int64_t> node_cpu_;                        // CPUs of nodes ever seen
  struct TakenBack {
    SteadyTime at{};
    FlavorAmounts amounts;
  };
  std::map<Key, TakenBack> taken_back_;         // by Workloads of elastic jobs
  std::map<std::string, SteadyTime> replaced_;  // job's UID → the end of its admitted slice
  std::string lease_holder_;
  std::int64_t leader_changes_ = 0;
  std::int64_t write_requests_ = 0;
  std::string last_write_request_;

  struct Rate {
    std::int64_t minute = 0;
    int writes = 0;
  };
  std::map<local::ObjectKey, Rate> rates_;
  std::map<std::string, std::set<std::int64_t>> revisions_;  // object's UID → its states' revisions
};

}  // namespace berth::sim

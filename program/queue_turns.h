// program/queue_turns.h — the turns of waiting workloads in queues with an order of their own, as
// numbers by which the read API sorts.
//
//     scheduler's order of the queue ─▶ one number a workload: rising in the order, and near the
//                                       number of an order by priority and time (view::TurnNumber)
//
// So most numbers do not change when one workload comes or goes.
//
// Threads: the scheduler's. Errors: none. Costs: the work for a changed queue is proportional to
// its waiting workloads, and is done at most once in kEvery.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "admission/pending_order.h"
#include "admission/policies/queue_policies.h"
#include "admission/scheduler.h"
#include "api/object_meta.h"
#include "api/queues.h"
#include "base/clock.h"

namespace berth::program {

class QueueTurns {
 public:
  static constexpr std::chrono::seconds kEvery{1};
  using Turns = std::map<api::ObjectKey, std::int64_t>;

  // Both must outlive the object.
  QueueTurns(const admission::Scheduler& scheduler, const Clock& clock)
      : scheduler_(scheduler), clock_(clock) {}

  void Set(const std::shared_ptr<const api::ClusterQueue>& queue);
  void Set(const api::Cohort& cohort) { LookAt(policies_.Set(cohort)); }
  void RemoveClusterQueue(const std::string& name);
  void RemoveCohort(const std::string& name) { LookAt(policies_.RemoveCohort(name)); }

  // The queues whose turns have changed since the last call, with all their turns; empty turns: the
  // queue now has the order by priority and time.
  std::map<std::string, Turns> Changed();
  // Whether the last call left a queue out that has changed within kEvery.
  bool AreLate() const { return are_late_; }

 private:
  struct Known {
    std::optional<admission::PendingSnapshot::Version> version;  // nullopt: no turns were made
    SteadyTime made_at{};
  };

  // Sorts these queues by whether they have orders of their own.
  void LookAt(const std::vector<std::string>& queues);
  Turns TurnsOf(admission::ClusterQueueId queue) const;

  const admission::Scheduler& scheduler_;
  const Clock& clock_;
  admission::QueuePolicies policies_;
  std::map<std::string, std::shared_ptr<const api::ClusterQueue>> queues_;
  std::map<std::string, Known> ordered_;  // queues with an order of their own
  std::set<std::string> gone_;            // queues that had turns and have lost their own order
  bool are_late_ = false;
};

}  // namespace berth::program

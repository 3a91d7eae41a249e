// admission/quota/sharing_usage.h — admission fair sharing in the scheduler: the usage ledger
// follows the workloads with quota, and the queues follow the ledger. No effect where the feature
// is off.
//
//     reserved ──Penalise──▶ penalty ──Settle──▶ consumption      usage ──▶ order of LocalQueues
//                               └──TakePenaltyBack──▶ none
//
// Threads: one. Errors: none.
// Source: Kueue KEP-4136.
#pragma once

#include <optional>

#include "admission/cluster_state.h"
#include "admission/decision.h"
#include "admission/quota/usage_ledger.h"
#include "admission/workloads/workload_records.h"
#include "api/queues.h"
#include "queue/queue_set.h"

namespace berth::admission {

class SharingUsage {
 public:
  // Both must outlive the usage. `config`: nullopt: the feature is off.
  SharingUsage(const ClusterState& state, queue::QueueSet& queues,
               const std::optional<AdmissionFairSharing>& config);

  // Null: off.
  const UsageLedger* ledger() const { return ledger_ ? &*ledger_ : nullptr; }
  // The usage history of a LocalQueue whose ClusterQueue exists, sampled if a sample is due;
  // nullopt: there is no history, or the feature is off.
  std::optional<UsageHistory> Sample(const api::ObjectKey& local_queue, WallTime now);
  // The usage that orders LocalQueues; nullopt: off.
  std::optional<double> Of(const api::ObjectKey& local_queue) const;

  void Apply(const api::LocalQueue& object);
  void Forget(const api::ObjectKey& local_queue);
  // A reservation begins (sign 1) or ends (-1).
  void Count(const Reservation& reservation, int sign);
  // The penalty of a workload that has got quota and is not admitted yet: Penalise adds the
  // penalty, Settle turns it into consumption on admission, TakePenaltyBack removes it.
  void Penalise(WorkloadRecord& admitted, const Decision& decision);
  void Settle(WorkloadRecord& reserved, WallTime now);
  void TakePenaltyBack(WorkloadRecord& released);

 private:
  bool KeepsHistory(ClusterQueueId queue) const;
  Spending SpendingOf(const Usage& usage) const;
  void Changed(const api::ObjectKey& local_queue);

  const ClusterState& state_;
  queue::QueueSet& queues_;
  std::optional<UsageLedger> ledger_;
};

}  // namespace berth::admission

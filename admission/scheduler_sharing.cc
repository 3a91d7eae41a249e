// Shares in the Scheduler: dominant shares for fair sharing, and the usage of LocalQueues for
// admission fair sharing.
#include <limits>

#include "admission/scheduler.h"

namespace berth::admission {
namespace {

api::ObjectKey LocalQueueOf(const api::Workload& object) {
  return {object.meta.namespace_name, object.spec.queue_name};
}

}  // namespace

std::int64_t Scheduler::WeightedShareOf(NodeId node) {
  return WeightedShare(search_.shares().Of(node));
}

double Scheduler::ExactShareOf(NodeId node) {
  const DominantShare share = search_.shares().Of(node);
  if (share.IsInfinite()) return std::numeric_limits<double>::quiet_NaN();
  return share.IsZero() ? 0.0 : share.unweighted / share.weight;
}

bool Scheduler::KeepsHistory(ClusterQueueId queue) const {
  return ledger_ && state_.HasQueue(queue) &&
         state_.queue(queue).spec.usage_based_admission_fair_sharing;
}

Spending Scheduler::SpendingOf(const Usage& usage) const {
  Spending spending;
  for (const FlavorResourceAmount& item : usage) {
    const std::string& resource = vocabulary().resources[state_.ResourceOf(item.flavor_resource)];
    const double unit = resource == "cpu" ? 1e-3 : 1.0;
    spending[resource] += static_cast<double>(item.amount) * unit;
  }
  return spending;
}

void Scheduler::UsageChanged(const api::ObjectKey& local_queue) {
  queues_.SetUsage(local_queue, ledger_->UsageOf(local_queue));
}

// The usage of all queues is tracked: any of them may begin to order by usage.
void Scheduler::CountAdmitted(const Reservation& reservation, int sign) {
  if (!ledger_ || !reservation.admitted) return;
  ledger_->AddAdmitted(LocalQueueOf(*reservation.object), SpendingOf(reservation.usage), sign);
}

void Scheduler::Penalise(Record& admitted, const Decision& decision) {
  if (!KeepsHistory(decision.cluster_queue)) return;
  const api::ObjectKey local_queue = LocalQueueOf(*decision.object);
  admitted.penalty =
      std::make_unique<Spending>(ledger_->EntryPenalty(SpendingOf(decision.assignment.usage)));
  ledger_->AddPenalty(local_queue, *admitted.penalty, 1);
  UsageChanged(local_queue);
}

void Scheduler::Settle(Record& reserved, WallTime now) {
  if (reserved.penalty == nullptr) return;
  const std::unique_ptr<Spending> penalty = std::move(reserved.penalty);
  const api::ObjectKey local_queue = LocalQueueOf(*reserved.info.object);
  ledger_->Settle(local_queue, *penalty, now);
  UsageChanged(local_queue);
}

void Scheduler::TakePenaltyBack(Record& released) {
  if (released.penalty == nullptr) return;
  const std::unique_ptr<Spending> penalty = std::move(released.penalty);
  const api::ObjectKey local_queue = LocalQueueOf(*released.info.object);
  ledger_->AddPenalty(local_queue, *penalty, -1);
  UsageChanged(local_queue);
}

std::optional<UsageHistory> Scheduler::SampleUsage(const api::ObjectKey& local_queue,
                                                   WallTime now) {
  const std::optional<ClusterQueueId> queue = queues_.ClusterQueueOf(local_queue);
  if (!ledger_ || !queue || !state_.HasQueue(*queue)) return std::nullopt;
  const UsageHistory history = ledger_->Sample(local_queue, now);
  UsageChanged(local_queue);
  return history;
}

std::optional<double> Scheduler::SharingUsageOf(const api::ObjectKey& local_queue) const {
  if (!ledger_) return std::nullopt;
  return ledger_->UsageOf(local_queue);
}

}  // namespace berth::admission

#include "admission/quota/sharing_usage.h"

#include <memory>
#include <utility>

namespace berth::admission {
namespace {

double ToDouble(const api::Quantity& quantity) {
  constexpr std::int64_t kMostInNano = INT64_MAX / 1'000'000'000;
  const std::int64_t whole = quantity.Value();
  return whole < kMostInNano ? static_cast<double>(quantity.NanoValue()) * 1e-9
                             : static_cast<double>(whole);
}

api::ObjectKey LocalQueueOf(const api::Workload& object) {
  return {object.meta.namespace_name, object.spec.queue_name};
}

}  // namespace

SharingUsage::SharingUsage(const ClusterState& state, queue::QueueSet& queues,
                           const std::optional<AdmissionFairSharing>& config)
    : state_(state), queues_(queues) {
  if (!config) return;
  ledger_.emplace(*config);
}

void SharingUsage::Apply(const api::LocalQueue& object) {
  if (!ledger_) return;
  ledger_->SetWeight(object.meta.key(), static_cast<double>(object.fair_weight_nano) * 1e-9);
  if (const auto& history = object.status.usage_history) {
    UsageHistory restored{{}, history->last_update};
    for (const auto& [resource, amount] : history->consumed) {
      restored.consumed[resource] = ToDouble(amount);
    }
    ledger_->Restore(object.meta.key(), std::move(restored));
  }
  Changed(object.meta.key());
}

void SharingUsage::Forget(const api::ObjectKey& local_queue) {
  if (ledger_) ledger_->Forget(local_queue);
}

bool SharingUsage::KeepsHistory(ClusterQueueId queue) const {
  return ledger_ && state_.cluster_queues().Has(queue) &&
         state_.queue(queue).spec.usage_based_admission_fair_sharing;
}

Spending SharingUsage::SpendingOf(const Usage& usage) const {
  Spending spending;
  const Vocabulary& names = state_.vocabulary();
  for (const FlavorResourceAmount& item : usage) {
    const std::string& resource =
        names.resources[names.flavor_resources.ResourceOf(item.flavor_resource)];
    const double unit = resource == "cpu" ? 1e-3 : 1.0;
    spending[resource] += static_cast<double>(item.amount) * unit;
  }
  return spending;
}

void SharingUsage::Changed(const api::ObjectKey& local_queue) {
  queues_.SetUsage(local_queue, ledger_->UsageOf(local_queue));
}

// The usage of all queues is tracked: any of them may begin to order by usage.
void SharingUsage::Count(const Reservation& reservation, int sign) {
  if (!ledger_ || !reservation.admitted) return;
  ledger_->AddAdmitted(LocalQueueOf(*reservation.object), SpendingOf(reservation.usage), sign);
}

void SharingUsage::Penalise(WorkloadRecord& admitted, const Decision& decision) {
  if (!KeepsHistory(decision.cluster_queue)) return;
  const api::ObjectKey local_queue = LocalQueueOf(*decision.object);
  admitted.penalty =
      std::make_unique<Spending>(ledger_->EntryPenalty(SpendingOf(decision.assignment.usage)));
  ledger_->AddPenalty(local_queue, *admitted.penalty, 1);
  Changed(local_queue);
}

void SharingUsage::Settle(WorkloadRecord& reserved, WallTime now) {
  if (reserved.penalty == nullptr) return;
  const std::unique_ptr<Spending> penalty = std::move(reserved.penalty);
  const api::ObjectKey local_queue = LocalQueueOf(*reserved.info.object);
  ledger_->Settle(local_queue, *penalty, now);
  Changed(local_queue);
}

void SharingUsage::TakePenaltyBack(WorkloadRecord& released) {
  if (released.penalty == nullptr) return;
  const std::unique_ptr<Spending> penalty = std::move(released.penalty);
  const api::ObjectKey local_queue = LocalQueueOf(*released.info.object);
  ledger_->AddPenalty(local_queue, *penalty, -1);
  Changed(local_queue);
}

std::optional<UsageHistory> SharingUsage::Sample(const api::ObjectKey& local_queue, WallTime now) {
  const std::optional<ClusterQueueId> queue = queues_.local_queues().ClusterQueueOf(local_queue);
  if (!ledger_ || !queue || !state_.cluster_queues().Has(*queue)) return std::nullopt;
  const UsageHistory history = ledger_->Sample(local_queue, now);
  Changed(local_queue);
  return history;
}

std::optional<double> SharingUsage::Of(const api::ObjectKey& local_queue) const {
  if (!ledger_) return std::nullopt;
  return ledger_->UsageOf(local_queue);
}

}  // namespace berth::admission

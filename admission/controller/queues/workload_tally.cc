#include "admission/controller/queues/workload_tally.h"

#include <algorithm>

#include "api/reasons.h"
#include "queue/workload_info.h"

namespace berth::admission {
namespace {

using api::Amount;
using Amounts = std::map<std::pair<std::string, api::ResourceName>, Amount>;

// Finished pods use nothing. Where fewer pods were admitted than requested, the first ones that
// count as finished are those that never started.
Amount WithoutReclaimed(Amount amount, std::int32_t admitted, std::int32_t left) {
  return left >= admitted || admitted <= 0 ? amount : amount / admitted * left;
}

void AddUsage(Amounts& amounts, const api::Workload& workload, std::int32_t sign) {
  const std::vector<std::int32_t> counts = queue::CountsAfterReclaim(workload);
  for (const api::PodSetAssignment& assignment : workload.status.admission->pod_set_assignments) {
    std::int32_t left = assignment.count;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (workload.spec.pod_sets[i].name == assignment.name) left = std::min(left, counts[i]);
    }
    for (const auto& [resource, amount] : assignment.resource_usage) {
      const auto flavor = assignment.flavors.find(resource);
      if (flavor == assignment.flavors.end()) continue;
      Amount& sum = amounts[{flavor->second, resource}];
      sum = api::AddAmounts(sum, sign * WithoutReclaimed(amount, assignment.count, left));
      if (sum == 0) amounts.erase({flavor->second, resource});
    }
  }
}

void AddRequests(Tally& tally, const api::Workload& workload, std::int32_t sign) {
  const std::vector<std::int32_t> counts = queue::CountsAfterReclaim(workload);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const api::PodSet& pod_set = workload.spec.pod_sets[i];
    for (const auto& [resource, amount] : api::PodRequests(pod_set.pod_template.spec)) {
      Amount& sum = tally.pending_requests[resource];
      sum = api::AddAmounts(sum, sign * api::MultiplyAmounts(amount, counts[i]));
      if (sum == 0) tally.pending_requests.erase(resource);
    }
  }
}

// Removes empty tallies, so that deleted queues leave none.
template <typename Tallies, typename Key>
void EraseIfEmpty(Tallies& tallies, const Key& key) {
  const auto found = tallies.find(key);
  if (found == tallies.end()) return;
  const Tally& tally = found->second;
  if (tally.pending == 0 && tally.reserving == 0) tallies.erase(found);
}

}  // namespace

void WorkloadTally::Count(const api::Workload& workload, std::int32_t sign, Touched& touched) {
  if (api::IsTrue(workload.status.conditions, api::kFinished)) return;
  const api::ObjectKey local{workload.meta.namespace_name, workload.spec.queue_name};
  const bool reserving = workload.status.admission.has_value() &&
                         api::IsTrue(workload.status.conditions, api::kQuotaReserved);
  touched.local_queues.push_back(local);
  if (!reserving) {
    if (!workload.spec.active) return;
    local_queues_[local].pending += sign;
    if (requests_ == Requests::kKept) AddRequests(local_queues_[local], workload, sign);
    return;
  }
  const bool admitted = api::IsTrue(workload.status.conditions, api::kAdmitted);
  touched.cluster_queues.push_back(workload.status.admission->cluster_queue);
  for (Tally* tally :
       {&cluster_queues_[workload.status.admission->cluster_queue], &local_queues_[local]}) {
    tally->reserving += sign;
    AddUsage(tally->reservation, workload, sign);
    if (!admitted) continue;
    tally->admitted += sign;
    if (values_of_) {
      const auto by = tally->admitted_by.try_emplace(values_of_(workload)).first;
      if ((by->second += sign) == 0) tally->admitted_by.erase(by);
    }
    AddUsage(tally->usage, workload, sign);
  }
}

WorkloadTally::Touched WorkloadTally::Change(const api::Workload* before,
                                             const api::Workload* after) {
  Touched touched;
  if (before != nullptr) Count(*before, -1, touched);
  if (after != nullptr) Count(*after, 1, touched);
  for (const std::string& name : touched.cluster_queues) EraseIfEmpty(cluster_queues_, name);
  for (const api::ObjectKey& key : touched.local_queues) EraseIfEmpty(local_queues_, key);
  return touched;
}

const Tally& WorkloadTally::ClusterQueue(const std::string& name) const {
  const auto found = cluster_queues_.find(name);
  return found == cluster_queues_.end() ? empty_ : found->second;
}

const Tally& WorkloadTally::LocalQueue(const api::ObjectKey& key) const {
  const auto found = local_queues_.find(key);
  return found == local_queues_.end() ? empty_ : found->second;
}

std::vector<api::FlavorUsage> UsageList(const std::vector<api::ResourceGroup>& groups,
                                        InCohort cohort, const Amounts& amounts) {
  std::vector<api::FlavorUsage> usages;
  for (const api::ResourceGroup& group : groups) {
    for (const api::FlavorQuotas& flavor : group.flavors) {
      api::FlavorUsage& usage = usages.emplace_back();
      usage.flavor = flavor.flavor;
      for (const api::ResourceQuota& quota : flavor.resources) {
        const auto found = amounts.find({flavor.flavor, quota.resource});
        const Amount total = found == amounts.end() ? 0 : found->second;
        const Amount over = std::max<Amount>(0, api::SubtractAmounts(total, quota.nominal_quota));
        usage.resources.push_back({quota.resource, total, cohort == InCohort::kYes ? over : 0});
      }
      std::sort(usage.resources.begin(), usage.resources.end(),
                [](const auto& a, const auto& b) { return a.resource < b.resource; });
    }
  }
  return usages;
}

}  // namespace berth::admission

#include "tests/support/quota_model.h"

#include <algorithm>
#include <set>

#include "api/condition.h"
#include "api/reasons.h"

namespace berth::support {
namespace {

Quotas QuotasOf(const std::vector<api::ResourceGroup>& groups) {
  Quotas quotas;
  for (const api::ResourceGroup& group : groups) {
    for (const api::FlavorQuotas& flavor : group.flavors) {
      for (const api::ResourceQuota& quota : flavor.resources) {
        quotas[{flavor.flavor, quota.resource}] = {quota.nominal_quota, quota.borrowing_limit,
                                                   quota.lending_limit};
      }
    }
  }
  return quotas;
}

}  // namespace

Amounts HeldBy(const api::Workload& workload) {
  Amounts amounts;
  if (!workload.status.admission) return amounts;
  for (const api::PodSetAssignment& assigned : workload.status.admission->pod_set_assignments) {
    std::int32_t count = assigned.count;
    for (const api::PodSet& pod_set : workload.spec.pod_sets) {
      if (pod_set.name != assigned.name) continue;
      std::int32_t left = pod_set.count;
      for (const api::ReclaimablePod& pods : workload.status.reclaimable_pods) {
        if (pods.pod_set == pod_set.name) left -= pods.count;
      }
      count = std::min(count, std::max(0, left));
    }
    for (const auto& [resource, amount] : assigned.resource_usage) {
      const api::Amount used =
          assigned.count == 0 ? amount : amount / assigned.count * static_cast<api::Amount>(count);
      amounts[{assigned.flavors.at(resource), resource}] += used;
    }
  }
  return amounts;
}

Amounts AskedBy(const admission::Decision& decision, const admission::Vocabulary& names) {
  Amounts asked;
  for (const admission::PodSetDecision& pod_set : decision.assignment.pod_sets) {
    for (const admission::FlavorChoice& choice : pod_set.flavors) {
      for (const admission::ResourceRequest& request : pod_set.requests) {
        if (request.resource != choice.resource) continue;
        asked[{names.flavors[choice.flavor], names.resources[choice.resource]}] += request.amount;
      }
    }
  }
  return asked;
}

QuotaModel::QuotaModel(const ControlPlane& world, Evicted evicted) {
  for (const auto& [name, cohort] : world.objects().all<api::Cohort>()) {
    formulae_.AddCohort(name, cohort.spec.parent_name, QuotasOf(cohort.spec.resource_groups));
  }
  for (const auto& [name, queue] : world.objects().all<api::ClusterQueue>()) {
    formulae_.AddQueue(name, queue.spec.cohort_name, QuotasOf(queue.spec.resource_groups));
  }
  for (const auto& [key, workload] : world.workloads()) {
    const auto& conditions = workload.status.conditions;
    if (!api::IsTrue(conditions, api::kQuotaReserved) || api::IsTrue(conditions, api::kFinished)) {
      continue;
    }
    if (evicted == Evicted::kLeaveOut && api::IsTrue(conditions, api::kEvicted)) continue;
    AddUsage(workload.status.admission->cluster_queue, HeldBy(workload));
  }
}

void QuotaModel::AddUsage(const std::string& queue, const Amounts& usage) {
  for (const auto& [fr, amount] : usage) usage_[queue][fr] += amount;
}

void QuotaModel::RemoveUsage(const std::string& queue, const Amounts& usage) {
  for (const auto& [fr, amount] : usage) usage_[queue][fr] -= amount;
}

api::Amount QuotaModel::Available(const std::string& queue, const FlavorResource& fr) const {
  return formulae_.Available(queue, fr, usage_);
}

api::Amount QuotaModel::Potential(const std::string& queue, const FlavorResource& fr) const {
  return formulae_.Potential(queue, fr);
}

bool QuotaModel::Fits(const std::string& queue, const Amounts& usage) const {
  return std::all_of(usage.begin(), usage.end(), [&](const auto& item) {
    return item.second <= std::max<api::Amount>(0, Available(queue, item.first));
  });
}

bool QuotaModel::Borrows(const std::string& queue, const Amounts& usage) const {
  const std::string node = "queue/" + queue;
  return std::any_of(usage.begin(), usage.end(), [&](const auto& item) {
    return Usage(node, item.first) + item.second > Subtree(node, item.first);
  });
}

std::vector<FlavorResource> QuotaModel::FlavorResources() const {
  std::set<FlavorResource> all = formulae_.FlavorResources();
  for (const auto& [queue, amounts] : usage_) {
    for (const auto& [fr, amount] : amounts) all.insert(fr);
  }
  return {all.begin(), all.end()};
}

}  // namespace berth::support

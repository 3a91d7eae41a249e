#include "admission/workloads/workload_slices.h"

#include "api/labels.h"

namespace berth::admission {

std::optional<api::ObjectKey> ReplacedSliceOf(const api::Workload& slice) {
  if (slice.meta.annotations.empty()) return std::nullopt;
  const std::string* text =
      api::FindValue(slice.meta.annotations, api::kSliceReplacementForAnnotation);
  if (text == nullptr) return std::nullopt;
  const std::size_t slash = text->find('/');
  if (slash == std::string::npos) return std::nullopt;
  api::ObjectKey key{text->substr(0, slash), text->substr(slash + 1)};
  if (key.namespace_name != slice.meta.namespace_name || key.name == slice.meta.name) {
    return std::nullopt;
  }
  return key;
}

bool HaveOneOwner(const api::Workload& a, const api::Workload& b) {
  return std::any_of(a.meta.owner_references.begin(), a.meta.owner_references.end(),
                     [&b](const api::OwnerReference& owner) {
                       return std::any_of(
                           b.meta.owner_references.begin(), b.meta.owner_references.end(),
                           [&owner](const auto& other) { return other.uid == owner.uid; });
                     });
}

Charges ChargesOf(ClusterState& state, const api::Workload& object, queue::ReclaimRule reclaim) {
  Charges charges;
  ForEachCharge(object, reclaim,
                [&](const api::PodSetAssignment& assigned, const std::string& resource,
                    const std::string& flavor, Amount amount) {
                  PodSetCharge& charge = charges.emplace_back();
                  charge.pod_set = assigned.name;
                  charge.resource = state.vocabulary().resources.Intern(resource);
                  charge.flavor = state.vocabulary().flavors.Intern(flavor);
                  charge.flavor_resource =
                      state.vocabulary().flavor_resources.Number(charge.flavor, charge.resource);
                  charge.amount = amount;
                });
  return charges;
}

Usage WholeUsageOf(const Assignment& assignment) {
  Usage usage;
  for (const PodSetDecision& pod_set : assignment.pod_sets) {
    for (const FlavorChoice& choice : pod_set.flavors) {
      for (const ResourceRequest& request : pod_set.requests) {
        if (request.resource != choice.resource) continue;
        const auto known = std::find_if(usage.begin(), usage.end(), [&choice](const auto& item) {
          return item.flavor_resource == choice.flavor_resource;
        });
        if (known == usage.end()) {
          usage.push_back({choice.flavor_resource, request.amount});
        } else {
          known->amount = api::AddAmounts(known->amount, request.amount);
        }
      }
    }
  }
  return usage;
}

std::string SliceReplacedMessage(const api::Workload& replacement) {
  const std::string* job = api::FindValue(replacement.meta.labels, api::kJobUidLabel);
  return "Replaced to accommodate a workload (UID: " + replacement.meta.uid +
         ", JobUID: " + (job == nullptr ? "" : *job) + ") due to workload slice aggregation";
}

}  // namespace berth::admission

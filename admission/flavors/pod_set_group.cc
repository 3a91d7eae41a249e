#include "admission/flavors/pod_set_group.h"

#include <algorithm>
#include <string>

#include "admission/flavors/gpu_sharing.h"

namespace berth::admission {
namespace {

// FNV-1a.
std::uint64_t HashOf(const std::string& name) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

// Adds the resource berth.dev/gpus to requests for GPUs, in the order of names.
void AddGpus(const RequestRules& rules, queue::Requests& requests) {
  const queue::Names& names = rules.resources;
  if (!AsksForGpus(requests, names)) return;
  const auto place = std::lower_bound(
      requests.begin(), requests.end(), rules.gpus,
      [&names](const auto& one, ResourceId gpus) { return names[one.resource] < names[gpus]; });
  if (place != requests.end() && place->resource == rules.gpus) return;
  const Amount whole = GpuSharing().GpusOf(requests, names);
  requests.insert(place, {rules.gpus, whole});
}

}  // namespace

PodSetGroups GroupPodSets(const RequestRules& rules, const queue::WorkloadInfo& workload,
                          const std::vector<std::int32_t>& counts, Assignment& assignment) {
  const queue::Names& names = rules.resources;
  const bool charge_pods = rules.pods >= 0 && rules.queue.GroupOf(rules.pods) != nullptr;
  const bool charge_gpus = rules.queue.GroupOf(rules.gpus) != nullptr;
  PodSetGroups groups;
  SmallVector<const std::string*, 1> group_names;
  for (std::size_t i = 0; i < workload.pod_sets.size(); ++i) {
    const queue::PodSetInfo& info = workload.pod_sets[i];
    PodSetDecision& decision = assignment.pod_sets.emplace_back();
    decision.name = info.name;
    // If all pods are reclaimed, there is no count to reduce.
    decision.count = counts.empty() || info.count == 0 ? info.count : counts[i];
    decision.requests.reserve(info.per_pod.size() + (charge_pods ? 1 : 0));
    bool pods_added = !charge_pods;
    for (const ResourceRequest& request : info.per_pod) {
      if (rules.ignore_undeclared && rules.queue.GroupOf(request.resource) == nullptr) continue;
      if (!pods_added && names[request.resource] > names[rules.pods]) {
        decision.requests.push_back({rules.pods, decision.count});
        pods_added = true;
      }
      decision.requests.push_back(
          {request.resource, api::MultiplyAmounts(request.amount, decision.count)});
    }
    if (!pods_added) decision.requests.push_back({rules.pods, decision.count});
    if (charge_gpus) AddGpus(rules, decision.requests);

    const std::string* group_name = nullptr;
    if (info.topology_request) {
      const auto& name = workload.object->spec.pod_sets[i].topology_request->pod_set_group_name;
      if (name) group_name = &*name;
    }
    std::size_t target = groups.size();
    for (std::size_t g = 0; group_name != nullptr && g < groups.size(); ++g) {
      if (group_names[g] != nullptr && *group_names[g] == *group_name) target = g;
    }
    if (target == groups.size()) {
      groups.emplace_back();
      group_names.push_back(group_name);
    }
    groups[target].pod_sets.push_back(i);
    if (groups[target].requests.empty()) {
      groups[target].requests = decision.requests;
      continue;
    }
    for (const ResourceRequest& request : decision.requests) {
      auto& sum = groups[target].requests;
      const auto place = std::lower_bound(
          sum.begin(), sum.end(), request,
          [&names](const auto& a, const auto& b) { return names[a.resource] < names[b.resource]; });
      if (place != sum.end() && place->resource == request.resource) {
        place->amount = api::AddAmounts(place->amount, request.amount);
      } else {
        sum.insert(place, request);
      }
    }
  }
  return groups;
}

// The order of resources decides which reason is reported where several resources do not fit.
// Kueue's order (pkg/resources, SliceRequests): by the hash of the name.
ResourceOrder OrderOfResources(const queue::Requests& requests, const queue::Names& resources) {
  ResourceOrder order;
  if (requests.size() < 2) {
    order.resize(requests.size());
    return order;
  }
  SmallVector<std::uint64_t, 4> hashes;
  order.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    order.push_back(i);
    hashes.push_back(HashOf(resources[requests[i].resource]));
  }
  std::sort(order.begin(), order.end(),
            [&hashes](std::size_t a, std::size_t b) { return hashes[a] < hashes[b]; });
  return order;
}

}  // namespace berth::admission

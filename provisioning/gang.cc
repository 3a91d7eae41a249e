#include "provisioning/gang.h"

#include <algorithm>

#include "provisioning/pod_sets.h"

namespace berth::provisioning {
namespace {

std::int64_t DivideUp(api::Amount amount, api::Amount by) {
  return amount / by + (amount % by == 0 ? 0 : 1);
}

// How many pods of `part` one empty node takes; 0 names the resource that is short.
std::int64_t PodsPerNode(const GangPart& part, const api::ResourceAmounts& node,
                         std::string& short_of) {
  std::int64_t most = INT64_MAX;
  for (const auto& [resource, amount] : part.pod) {
    const auto offered = node.find(resource);
    if (amount <= 0 || offered == node.end()) continue;
    const std::int64_t pods = std::max<api::Amount>(offered->second, 0) / amount;
    if (pods == 0) short_of = resource;
    most = std::min(most, pods);
  }
  return most;
}

}  // namespace

std::int64_t Gang::pods() const {
  std::int64_t pods = 0;
  for (const GangPart& part : parts) pods = api::AddAmounts(pods, part.count);
  return pods;
}

Gang GangOf(const api::Workload& workload, const api::ProvisioningRequestConfig& config) {
  Gang gang;
  for (const api::PodSet& pods : workload.spec.pod_sets) {
    if (pods.count <= 0 || !UsesManaged(pods.pod_template.spec, config)) continue;
    const std::int32_t least =
        pods.min_count ? std::clamp(*pods.min_count, 1, pods.count) : pods.count;
    gang.parts.push_back(
        {least, api::PodRequests(pods.pod_template.spec), pods.pod_template.spec.node_selector});
  }
  return gang;
}

std::int64_t PodsOnNode(const GangPart& part, const api::ResourceAmounts& node) {
  std::string short_of;
  return PodsPerNode(part, node, short_of);
}

NodesNeeded LeastNodes(const Gang& gang, const api::ResourceAmounts& node) {
  NodesNeeded needed;
  api::ResourceAmounts total;
  for (const GangPart& part : gang.parts) {
    const std::int64_t per_node = PodsPerNode(part, node, needed.short_of);
    if (per_node == 0) return needed;
    needed.nodes = std::max(needed.nodes, DivideUp(part.count, per_node));
    for (const auto& [resource, amount] : part.pod) {
      total[resource] = api::AddAmounts(total[resource], api::MultiplyAmounts(amount, part.count));
    }
  }
  for (const auto& [resource, offered] : node) {
    const auto asked = total.find(resource);
    if (offered > 0 && asked != total.end()) {
      needed.nodes = std::max(needed.nodes, DivideUp(asked->second, offered));
    }
  }
  return needed;
}

}  // namespace berth::provisioning

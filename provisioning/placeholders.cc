#include "provisioning/placeholders.h"

#include <algorithm>

#include "api/pod_phase.h"
#include "base/sha1.h"

namespace berth::provisioning {
namespace {

constexpr std::size_t kLongestStem = 40;
constexpr std::size_t kHashDigits = 10;

}  // namespace

std::vector<CreatePlaceholder> PlaceholdersFor(const api::Workload& workload,
                                               const api::ProvisioningPolicy& policy,
                                               const std::vector<PodSetGroup>& groups) {
  std::vector<CreatePlaceholder> placeholders;
  if (!policy.placeholders) return placeholders;
  std::size_t pods = 0;
  for (const PodSetGroup& group : groups) pods += static_cast<std::size_t>(group.count);
  if (pods > kMostPlaceholders) return placeholders;
  std::string stem = "hold-" + workload.meta.name.substr(0, kLongestStem);
  while (stem.back() == '-' || stem.back() == '.') stem.pop_back();
  stem += "-" + Sha1Hex(workload.meta.uid).substr(0, kHashDigits) + "-";
  for (const PodSetGroup& group : groups) {
    for (std::int32_t at = 0; at < group.count; ++at) {
      placeholders.push_back({.name = stem + std::to_string(placeholders.size()),
                              .pod_template = group.pod_template,
                              .priority_class = policy.placeholders->priority_class,
                              .image = policy.placeholders->image});
    }
  }
  return placeholders;
}

PlaceholderCount CountPlaceholders(const std::vector<CreatePlaceholder>& wanted,
                                   const std::vector<const api::Pod*>& pods) {
  PlaceholderCount count;
  for (const CreatePlaceholder& each : wanted) {
    const auto found = std::find_if(pods.begin(), pods.end(), [&each](const api::Pod* pod) {
      return pod->meta.name == each.name;
    });
    if (found == pods.end()) {
      count.missing.push_back(&each);
      continue;
    }
    const api::Pod& pod = **found;
    if (pod.spec.node_name.empty() || pod.meta.deletion_timestamp || api::HasEnded(pod)) continue;
    ++count.placed;
  }
  return count;
}

}  // namespace berth::provisioning

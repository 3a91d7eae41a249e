#include "provisioning/ways/request_parts.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "api/labels.h"
#include "api/provisioning_labels.h"
#include "provisioning/asked_requests.h"
#include "provisioning/gang.h"
#include "provisioning/request_names.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningRequest;

std::set<std::string> FlavorsOfPodSet(const api::Workload& workload, const std::string& name) {
  std::set<std::string> flavors;
  if (!workload.status.admission) return flavors;
  for (const api::PodSetAssignment& each : workload.status.admission->pod_set_assignments) {
    if (each.name != name) continue;
    for (const auto& [resource, flavor] : each.flavors) flavors.insert(flavor);
  }
  return flavors;
}

// The requests whose capacity the updates let the pods use.
std::set<std::string> NamedRequests(const std::vector<api::PodSetUpdate>& updates) {
  std::set<std::string> names;
  for (const api::PodSetUpdate& update : updates) {
    const std::string* name =
        api::FindValue(update.annotations, api::kConsumeProvisioningRequestAnnotation);
    if (name != nullptr) names.insert(*name);
  }
  return names;
}

bool AsksForPart(const ProvisioningRequest& request, const Part& part) {
  return !request.pod_sets.empty() &&
         request.pod_sets.front().pod_template_name ==
             TemplateName(request.meta.name, part.front().names.front());
}

}  // namespace

std::vector<Part> SplitByFlavors(const CheckSituation& check) {
  using Mode = api::ProvisioningSplit::Mode;
  std::vector<Part> parts;
  if (!check.plan) return parts;
  const auto& split = check.input.policy->split;
  if (!split || split->mode != Mode::kPerPodSet) return parts;
  std::vector<std::set<std::string>> flavors;
  for (const PodSetGroup& group : check.groups) {
    std::set<std::string> needed = FlavorsOfPodSet(check.workload, group.names.front());
    const auto same = std::find(flavors.begin(), flavors.end(), needed);
    if (same != flavors.end()) {
      parts[static_cast<std::size_t>(same - flavors.begin())].push_back(group);
      continue;
    }
    flavors.push_back(std::move(needed));
    parts.push_back({group});
  }
  if (parts.size() <= 1) parts.clear();
  return parts;
}

Part FirstPart(const CheckSituation& check) {
  if (!check.plan || check.groups.size() != 1 || !MayDivide(*check.input.policy, check.workload)) {
    return {};
  }
  const Gang gang = GangOf(check.workload, check.config());
  std::int64_t nodes = check.input.policy->split->max_nodes;
  std::int64_t per_node = 1;
  const api::ProvisioningStep* step = check.plan->current();
  if (step != nullptr && step->pool && !gang.parts.empty()) {
    nodes = std::min<std::int64_t>(nodes, step->pool->max_nodes);
    per_node = std::max<std::int64_t>(PodsOnNode(gang.parts.front(), step->pool->node), 1);
  }
  const std::int64_t pods = api::MultiplyAmounts(nodes, per_node);
  if (check.groups.front().count <= pods) return {};
  Part part = check.groups;
  part.front().count = static_cast<std::int32_t>(pods);
  return part;
}

const Part& GroupsOf(const CheckSituation& check, const ProvisioningRequest& request) {
  static const Part kNone;
  if (!check.Splits()) return check.groups;
  const auto part =
      std::find_if(check.parts.begin(), check.parts.end(),
                   [&request](const Part& each) { return AsksForPart(request, each); });
  return part == check.parts.end() ? kNone : *part;
}

std::vector<const Part*> MissingParts(const CheckSituation& check) {
  std::vector<const Part*> missing;
  for (const Part& part : check.parts) {
    const bool asked =
        std::any_of(check.runners.begin(), check.runners.end(),
                    [&part](const Runner& each) { return AsksForPart(*each.request, part); });
    if (!asked) missing.push_back(&part);
  }
  return missing;
}

std::optional<std::vector<Runner>> RunnersOfParts(const CheckSituation& check,
                                                  const std::vector<Runner>& candidates) {
  std::vector<Runner> runners;
  if (check.is_ready()) {
    const std::set<std::string> named = NamedRequests(check.before.pod_set_updates);
    if (named.size() <= 1) return std::nullopt;
    for (const Runner& each : candidates) {
      if (named.contains(each.request->meta.name)) runners.push_back(each);
    }
    return runners;
  }
  if (!check.Splits()) return std::nullopt;
  for (const Part& part : check.parts) {
    const auto newest =
        std::find_if(candidates.rbegin(), candidates.rend(),
                     [&part](const Runner& each) { return AsksForPart(*each.request, part); });
    if (newest != candidates.rend()) runners.push_back(*newest);
  }
  return runners;
}

std::vector<Runner> RunnersOfDivided(const CheckSituation& check,
                                     const std::vector<Runner>& candidates) {
  std::vector<Runner> runners;
  if (!check.is_ready()) return runners;
  std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(runners),
               [](const Runner& each) { return IsDivided(*each.request); });
  return runners;
}

}  // namespace berth::provisioning

#include "view/screens/kueue_objects.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/quantity.h"
#include "base/strings.h"

namespace berth::view {
namespace {

using Json = nlohmann::json;

constexpr char kApiVersion[] = "kueue.x-k8s.io/v1beta2";

Json NewObject(const char* kind, const std::string& name, Json spec) {
  return {{"apiVersion", kApiVersion},
          {"kind", kind},
          {"metadata", {{"name", name}}},
          {"spec", std::move(spec)}};
}

Error BadFlag(const std::string& flag, const std::string& value, const std::string& form) {
  return {ErrorCode::kInvalid, flag + " \"" + value + "\": write " + form};
}

Result<Json> LabelsOf(const std::string& flag, const std::vector<std::string>& pairs) {
  Json labels = Json::object();
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return BadFlag(flag, pair, "label=value,label=value");
    }
    labels[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return labels;
}

// The quotas of one flavor, in the order of its resources.
struct FlavorOfFlags {
  std::string name;
  std::vector<std::string> resources;
  std::map<std::string, Json> quotas;  // by resource
};

Result<std::vector<std::pair<std::string, std::string>>> AmountsOf(const std::string& flag,
                                                                   const std::string& item) {
  constexpr const char* kForm = "flavor:resource=amount;resource=amount,flavor:…";
  std::vector<std::pair<std::string, std::string>> amounts;
  const std::size_t colon = item.find(':');
  if (colon == std::string::npos || colon == 0) return BadFlag(flag, item, kForm);
  std::set<std::string> seen;
  for (const std::string_view part : Split(std::string_view(item).substr(colon + 1), ';')) {
    const std::string_view pair = TrimSpace(part);
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) return BadFlag(flag, item, kForm);
    std::string resource(TrimSpace(pair.substr(0, equals)));
    std::string amount(TrimSpace(pair.substr(equals + 1)));
    if (!api::ParseAmount(resource, amount)) {
      return Error{ErrorCode::kInvalid,
                   flag + " \"" + item + "\": \"" + amount + "\" is not an amount of " + resource};
    }
    if (!seen.insert(resource).second) {
      return Error{ErrorCode::kInvalid, flag + " \"" + item + "\": " + resource + " comes twice"};
    }
    amounts.emplace_back(std::move(resource), std::move(amount));
  }
  return amounts;
}

Status AddQuotas(const std::string& flag, const char* field, const std::vector<std::string>& items,
                 std::vector<FlavorOfFlags>& flavors) {
  std::set<std::string> seen;
  for (const std::string& item : items) {
    BERTH_TRY(const auto amounts, AmountsOf(flag, item));
    const std::string name(TrimSpace(std::string_view(item).substr(0, item.find(':'))));
    if (!seen.insert(name).second) {
      return Error{ErrorCode::kInvalid, flag + ": the flavor " + name + " comes twice"};
    }
    auto flavor = std::find_if(flavors.begin(), flavors.end(),
                               [&name](const FlavorOfFlags& f) { return f.name == name; });
    const bool is_new = flavor == flavors.end();
    if (is_new) flavor = flavors.insert(flavors.end(), FlavorOfFlags{.name = name});
    for (const auto& [resource, amount] : amounts) {
      if (is_new) flavor->resources.push_back(resource);
      flavor->quotas[resource][field] = amount;
    }
    if (flavor->quotas.size() != amounts.size() ||
        flavor->quotas.size() != flavor->resources.size()) {
      return Error{ErrorCode::kInvalid,
                   flag + " \"" + item + "\": name the same resources of the flavor " + name +
                       " in --nominal-quota, --borrowing-limit and --lending-limit"};
    }
  }
  return OkStatus();
}

// Flavors with the same resources share a group.
Result<Json> GroupsOf(const std::vector<FlavorOfFlags>& flavors) {
  Json groups = Json::array();
  std::map<std::set<std::string>, std::size_t> group_of;
  std::map<std::string, std::set<std::string>> covered;  // resource -> the resources of its group
  for (const FlavorOfFlags& flavor : flavors) {
    const std::set<std::string> resources(flavor.resources.begin(), flavor.resources.end());
    for (const std::string& resource : resources) {
      const auto [known, is_new] = covered.emplace(resource, resources);
      if (is_new || known->second == resources) continue;
      return Error{ErrorCode::kInvalid, "--nominal-quota: " + resource + " of the flavor " +
                                            flavor.name +
                                            " is also in flavors with other resources; flavors "
                                            "that share a resource must have the same resources"};
    }
    const auto [found, is_new] = group_of.emplace(resources, groups.size());
    if (is_new)
      groups.push_back({{"coveredResources", flavor.resources}, {"flavors", Json::array()}});
    Json quotas = Json::array();
    // The order of coveredResources, which the API requires.
    for (const Json& resource : groups[found->second]["coveredResources"]) {
      Json quota = flavor.quotas.at(resource.get<std::string>());
      quota["name"] = resource;
      if (!quota.contains("nominalQuota")) quota["nominalQuota"] = "0";
      quotas.push_back(std::move(quota));
    }
    groups[found->second]["flavors"].push_back(
        {{"name", flavor.name}, {"resources", std::move(quotas)}});
  }
  return groups;
}

struct TaintText {
  std::string key;
  std::string value;
  std::string effect;
};

// "key[=value][:effect]".
Result<TaintText> ParseTaint(const std::string& flag, const std::string& text,
                             const std::string& form) {
  TaintText taint;
  const std::vector<std::string_view> parts = Split(text, ':');
  if (text.empty() || parts.size() > 2) return BadFlag(flag, text, form);
  const std::vector<std::string_view> pair = Split(parts[0], '=');
  if (pair.size() > 2) return BadFlag(flag, text, form);
  taint.key = pair[0];
  if (pair.size() == 2) taint.value = pair[1];
  if (parts.size() == 2) taint.effect = parts[1];
  if (taint.key.empty() && !taint.value.empty()) return BadFlag(flag, text, form);
  const bool known = taint.effect == "NoSchedule" || taint.effect == "NoExecute";
  if (!taint.effect.empty() && !known) {
    return Error{ErrorCode::kInvalid, flag + " \"" + text + "\": the effect \"" + taint.effect +
                                          "\" is not NoSchedule or NoExecute"};
  }
  return taint;
}

Result<Json> TaintsOf(const std::vector<std::string>& texts) {
  constexpr const char* kFlag = "--node-taints";
  constexpr const char* kForm = "key=value:effect or key:effect";
  Json taints = Json::array();
  std::set<std::pair<std::string, std::string>> seen;
  for (const std::string& text : texts) {
    BERTH_TRY(const TaintText taint, ParseTaint(kFlag, text, kForm));
    if (taint.key.empty() || taint.effect.empty()) return BadFlag(kFlag, text, kForm);
    if (!seen.emplace(taint.key, taint.effect).second) {
      return Error{ErrorCode::kInvalid,
                   std::string(kFlag) + " \"" + text + "\": key and effect come twice"};
    }
    Json made = {{"key", taint.key}, {"effect", taint.effect}};
    if (!taint.value.empty()) made["value"] = taint.value;
    taints.push_back(std::move(made));
  }
  return taints;
}

Result<Json> TolerationsOf(const std::vector<std::string>& texts) {
  Json tolerations = Json::array();
  for (const std::string& text : texts) {
    BERTH_TRY(const TaintText taint, ParseTaint("--tolerations", text,
                                                "key=value:effect, key:effect, key=value, key or "
                                                ":effect"));
    const bool equal = !taint.key.empty() && !taint.value.empty();
    Json made = {{"operator", equal ? "Equal" : "Exists"}};
    if (!taint.key.empty()) made["key"] = taint.key;
    if (equal) made["value"] = taint.value;
    if (!taint.effect.empty()) made["effect"] = taint.effect;
    tolerations.push_back(std::move(made));
  }
  return tolerations;
}

}  // namespace

Result<Json> BuildClusterQueue(const NewClusterQueue& flags) {
  BERTH_TRY(Json labels, LabelsOf("--namespace-selector", flags.namespace_selector));
  std::vector<FlavorOfFlags> flavors;
  BERTH_CHECK_OK(AddQuotas("--nominal-quota", "nominalQuota", flags.nominal_quota, flavors));
  BERTH_CHECK_OK(AddQuotas("--borrowing-limit", "borrowingLimit", flags.borrowing_limit, flavors));
  BERTH_CHECK_OK(AddQuotas("--lending-limit", "lendingLimit", flags.lending_limit, flavors));
  BERTH_TRY(Json groups, GroupsOf(flavors));
  Json spec = {{"queueingStrategy", flags.queuing_strategy},
               {"namespaceSelector", Json::object()},
               {"preemption",
                {{"reclaimWithinCohort", flags.reclaim_within_cohort},
                 {"withinClusterQueue", flags.preemption_within_cluster_queue}}}};
  if (!flags.cohort.empty()) spec["cohortName"] = flags.cohort;
  if (!labels.empty()) spec["namespaceSelector"]["matchLabels"] = std::move(labels);
  if (!groups.empty()) spec["resourceGroups"] = std::move(groups);
  return NewObject("ClusterQueue", flags.name, std::move(spec));
}

Json BuildLocalQueue(const std::string& namespace_name, const std::string& name,
                     const std::string& cluster_queue) {
  Json queue = NewObject("LocalQueue", name, {{"clusterQueue", cluster_queue}});
  queue["metadata"]["namespace"] = namespace_name;
  return queue;
}

Result<Json> BuildResourceFlavor(const NewResourceFlavor& flags) {
  BERTH_TRY(Json labels, LabelsOf("--node-labels", flags.node_labels));
  BERTH_TRY(Json taints, TaintsOf(flags.node_taints));
  BERTH_TRY(Json tolerations, TolerationsOf(flags.tolerations));
  Json spec = Json::object();
  if (!labels.empty()) spec["nodeLabels"] = std::move(labels);
  if (!taints.empty()) spec["nodeTaints"] = std::move(taints);
  if (!tolerations.empty()) spec["tolerations"] = std::move(tolerations);
  return NewObject("ResourceFlavor", flags.name, std::move(spec));
}

}  // namespace berth::view

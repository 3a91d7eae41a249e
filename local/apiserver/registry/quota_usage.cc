#include "local/apiserver/registry/quota_usage.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "api/codec/json_write.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/pod_amounts.h"
#include "local/apiserver/registry/strategies/pod_spec.h"

namespace berth::local {
namespace {

constexpr std::string_view kRequests = "requests.";
constexpr std::string_view kLimits = "limits.";
constexpr std::string_view kCount = "count/";

// Core kinds that quotas know by their plain name.
constexpr std::array<std::string_view, 6> kPlainKinds = {
    "configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets",
    "services"};

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool HasShortName(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource == "ephemeral-storage" ||
         StartsWith(resource, "hugepages-");
}

// The resource by whose unit the name is counted.
std::string UnitOf(std::string_view name) {
  for (const std::string_view prefix : {kRequests, kLimits}) {
    if (StartsWith(name, prefix)) name.remove_prefix(prefix.size());
  }
  if (name == "storage" || name.find("/requests.storage") != std::string_view::npos) {
    return "memory";
  }
  return std::string(name);
}

bool HasEnded(const Json& pod) {
  const std::string phase = TextAt(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

void AddPod(const Json& pod, api::ResourceAmounts& usage) {
  if (HasEnded(pod)) return;
  usage["pods"] = 1;
  const Json* spec = Member(pod, "spec");
  if (spec == nullptr) return;
  for (const auto& [name, amount] : PodAmounts(*spec, "requests")) {
    usage[std::string(kRequests) + name] = amount;
    if (HasShortName(name)) usage[name] = amount;
  }
  for (const auto& [name, amount] : PodAmounts(*spec, "limits")) {
    if (HasShortName(name)) usage[std::string(kLimits) + name] = amount;
  }
}

void AddClaim(const Json& claim, api::ResourceAmounts& usage) {
  const auto requests = AmountsIn(At(claim, {"spec", "resources", "requests"}));
  const auto storage = requests.find("storage");
  if (storage == requests.end()) return;
  usage["requests.storage"] = storage->second;
  const std::string of_class = TextAt(claim, {"spec", "storageClassName"});
  if (of_class.empty()) return;
  usage[of_class + ".storageclass.storage.k8s.io/requests.storage"] = storage->second;
  usage[of_class + ".storageclass.storage.k8s.io/persistentvolumeclaims"] = 1;
}

void AddService(const Json& service, api::ResourceAmounts& usage) {
  const std::string type = TextAt(service, {"spec", "type"});
  const auto ports = static_cast<api::Amount>(ArrayAt(service, {"spec", "ports"}).size());
  if (type == "LoadBalancer") usage["services.loadbalancers"] = 1;
  if (type == "LoadBalancer" || type == "NodePort") usage["services.nodeports"] = ports;
}

// Whether an affinity of the pod, or an anti-affinity, looks at other namespaces.
bool LooksAtNamespaces(const Json& pod) {
  const auto looks = [](const Json& term) {
    return !ArrayAt(term, {"namespaces"}).empty() || At(term, {"namespaceSelector"}) != nullptr;
  };
  for (const std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
    for (const Json& term : ArrayAt(
             pod, {"spec", "affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution"})) {
      if (looks(term)) return true;
    }
    for (const Json& weighted : ArrayAt(
             pod, {"spec", "affinity", kind, "preferredDuringSchedulingIgnoredDuringExecution"})) {
      const Json* term = Member(weighted, "podAffinityTerm");
      if (term != nullptr && looks(*term)) return true;
    }
  }
  return false;
}

bool HoldsScope(const Json& requirement, const Json& pod) {
  const std::string scope = TextAt(requirement, {"scopeName"});
  const bool terminating = At(pod, {"spec", "activeDeadlineSeconds"}) != nullptr;
  const bool best_effort = QosClass(pod.value("spec", Json::object())) == "BestEffort";
  if (scope == "Terminating") return terminating;
  if (scope == "NotTerminating") return !terminating;
  if (scope == "BestEffort") return best_effort;
  if (scope == "NotBestEffort") return !best_effort;
  if (scope == "CrossNamespacePodAffinity") return LooksAtNamespaces(pod);
  if (scope != "PriorityClass") return false;
  const std::string name = TextAt(pod, {"spec", "priorityClassName"});
  const std::string op = TextAt(requirement, {"operator"});
  if (op == "Exists") return !name.empty();
  if (op == "DoesNotExist") return name.empty();
  const Json& values = ArrayAt(requirement, {"values"});
  const bool listed = std::find(values.begin(), values.end(), Json(name)) != values.end();
  return op == "In" ? listed : op == "NotIn" && !listed;
}

std::string Listing(const std::map<std::string, api::Amount>& amounts) {
  std::string text;
  for (const auto& [name, amount] : amounts) {
    text += (text.empty() ? "" : ",") + name + "=" + QuotaText(name, amount);
  }
  return text;
}

}  // namespace

api::Amount QuotaAmount(const std::string& name, const Json& quantity) {
  const std::string text =
      quantity.is_string() ? quantity.get<std::string>() : api::FormatJson(quantity);
  const auto amount = api::ParseAmount(UnitOf(name), text);
  return amount ? *amount : 0;
}

std::string QuotaText(const std::string& name, api::Amount amount) {
  return api::FormatAmount(UnitOf(name), amount);
}

api::ResourceAmounts QuotaUsage(std::string_view storage, const Json& object) {
  api::ResourceAmounts usage;
  usage[std::string(kCount) + std::string(storage)] = 1;
  if (std::find(kPlainKinds.begin(), kPlainKinds.end(), storage) != kPlainKinds.end()) {
    usage[std::string(storage)] = 1;
  }
  if (storage == "pods") AddPod(object, usage);
  if (storage == "persistentvolumeclaims") AddClaim(object, usage);
  if (storage == "services") AddService(object, usage);
  return usage;
}

bool IsInScope(const Json& quota, std::string_view storage, const Json& object) {
  const Json& scopes = ArrayAt(quota, {"spec", "scopes"});
  const Json& requirements = ArrayAt(quota, {"spec", "scopeSelector", "matchExpressions"});
  if (scopes.empty() && requirements.empty()) return true;
  if (storage != "pods") return false;
  for (const Json& scope : scopes) {
    if (!HoldsScope({{"scopeName", scope}, {"operator", "Exists"}}, object)) return false;
  }
  return std::all_of(requirements.begin(), requirements.end(),
                     [&](const Json& one) { return HoldsScope(one, object); });
}

std::vector<std::string> CountedKinds(const Json& quota) {
  std::set<std::string> kinds;
  const Json* hard = At(quota, {"spec", "hard"});
  if (hard == nullptr || !hard->is_object()) return {};
  for (const auto& [name, value] : hard->items()) {
    const std::string_view key = name;
    if (StartsWith(key, kCount)) {
      kinds.insert(name.substr(kCount.size()));
    } else if (StartsWith(key, "services")) {
      kinds.insert("services");
    } else if (key == "requests.storage" || key.find(".storageclass.") != std::string_view::npos) {
      kinds.insert("persistentvolumeclaims");
    } else if (std::find(kPlainKinds.begin(), kPlainKinds.end(), key) != kPlainKinds.end()) {
      kinds.insert(name);
    } else {
      kinds.insert("pods");
    }
  }
  return {kinds.begin(), kinds.end()};
}

std::string QuotaRefusal(const Json& quota, const api::ResourceAmounts& usage) {
  const Json* hard = At(quota, {"spec", "hard"});
  if (hard == nullptr || !hard->is_object()) return "";
  std::string unknown;
  std::map<std::string, api::Amount> requested;
  std::map<std::string, api::Amount> used;
  std::map<std::string, api::Amount> limited;
  for (const auto& [name, limit] : hard->items()) {
    const auto asked = usage.find(name);
    if (asked == usage.end() || asked->second <= 0) continue;
    const Json* known = At(quota, {"status", "used", name});
    if (known == nullptr) {
      unknown += (unknown.empty() ? "" : ",") + name;
      continue;
    }
    const api::Amount most = QuotaAmount(name, limit);
    const api::Amount has = QuotaAmount(name, *known);
    if (api::AddAmounts(has, asked->second) <= most) continue;
    requested[name] = asked->second;
    used[name] = has;
    limited[name] = most;
  }
  if (!unknown.empty()) {
    return "status unknown for quota: " + NameOf(quota) + ", resources: " + unknown;
  }
  if (requested.empty()) return "";
  return "exceeded quota: " + NameOf(quota) + ", requested: " + Listing(requested) +
         ", used: " + Listing(used) + ", limited: " + Listing(limited);
}

std::string MissingForQuota(const Json& quota, const Json& pod) {
  std::string missing;
  const Json* hard = At(quota, {"spec", "hard"});
  if (hard == nullptr || !hard->is_object()) return missing;
  for (const auto& [name, value] : hard->items()) {
    const bool limits = StartsWith(name, kLimits);
    const std::string resource = UnitOf(name);
    const bool is_constrained = (resource == "cpu" || resource == "memory") &&
                                (limits || StartsWith(name, kRequests) || name == resource);
    if (!is_constrained) continue;
    std::string containers;
    for (const char* list : {"containers", "initContainers"}) {
      for (const Json& container : ArrayAt(pod, {"spec", list})) {
        const char* field = limits ? "limits" : "requests";
        if (At(container, {"resources", field, resource}) != nullptr) continue;
        containers += (containers.empty() ? "" : ",") + TextAt(container, {"name"});
      }
    }
    if (containers.empty()) continue;
    missing += (missing.empty() ? "" : "; ") + name + " for: " + containers;
  }
  if (missing.empty()) return missing;
  return "failed quota: " + NameOf(quota) + ": must specify " + missing;
}

}  // namespace berth::local

#include "api/pod.h"

#include <algorithm>

#include "base/strings.h"

namespace berth::api {
namespace {

// A negative amount would release quota; a webhook refuses it, if one is installed.
Amount Counted(Amount amount) { return std::max<Amount>(amount, 0); }

void AddTo(ResourceAmounts& sum, const ResourceAmounts& more) {
  for (const auto& [resource, amount] : more) {
    sum[resource] = AddAmounts(sum[resource], Counted(amount));
  }
}

void RaiseTo(ResourceAmounts& maximum, const ResourceAmounts& other) {
  for (const auto& [resource, amount] : other) {
    const auto [found, inserted] = maximum.try_emplace(resource, amount);
    if (!inserted) found->second = std::max(found->second, amount);
  }
}

ResourceAmounts RequestsOf(const Container& container) {
  ResourceAmounts requests = container.requests;
  requests.insert(container.limits.begin(), container.limits.end());  // keeps explicit requests
  return requests;
}

// Whether the taint's number satisfies the toleration's operator Gt or Lt.
bool Compares(const Toleration& toleration, const Taint& taint) {
  const auto bound = ParseInt64(toleration.value);
  const auto have = ParseInt64(taint.value);
  if (!bound || !have) return false;
  return toleration.op == "Gt" ? *have > *bound : *have < *bound;
}

}  // namespace

bool Tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.op == "Exists") return true;
  if (toleration.op == "Gt" || toleration.op == "Lt") return Compares(toleration, taint);
  if (!toleration.op.empty() && toleration.op != "Equal") return false;
  return !toleration.key.empty() && toleration.value == taint.value;
}

bool Matches(const NodeSelectorRequirement& requirement, const StringMap& labels) {
  const std::string* value = FindValue(labels, requirement.key);
  const auto& values = requirement.values;
  if (requirement.op == "Exists") return value != nullptr;
  if (requirement.op == "DoesNotExist") return value == nullptr;
  const bool listed =
      value != nullptr && std::find(values.begin(), values.end(), *value) != values.end();
  if (requirement.op == "In") return listed;
  if (requirement.op == "NotIn") return !listed;
  if (value == nullptr || values.size() != 1) return false;
  const auto have = ParseInt64(*value);
  const auto bound = ParseInt64(values.front());
  if (!have || !bound) return false;
  if (requirement.op == "Gt") return *have > *bound;
  return requirement.op == "Lt" && *have < *bound;
}

ResourceAmounts PodRequests(const PodSpec& spec) {
  ResourceAmounts running;
  for (const Container& container : spec.containers) AddTo(running, RequestsOf(container));
  ResourceAmounts sidecars;
  ResourceAmounts highest_init;
  for (const Container& container : spec.init_containers) {
    ResourceAmounts at_this_step = sidecars;
    AddTo(at_this_step, RequestsOf(container));
    if (container.restart_policy == "Always") sidecars = at_this_step;
    RaiseTo(highest_init, at_this_step);
  }
  AddTo(running, sidecars);
  RaiseTo(running, highest_init);
  ResourceAmounts of_pod = spec.pod_requests;
  of_pod.insert(spec.pod_limits.begin(), spec.pod_limits.end());  // keeps explicit requests
  for (const auto& [resource, amount] : of_pod) running[resource] = Counted(amount);
  AddTo(running, spec.overhead);
  return running;
}

}  // namespace berth::api

#include "local/cluster/scheduler/pod_resources.h"

#include <algorithm>

#include "api/codec/json_write.h"
#include "api/gpu_shares.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

// Requests default to limits, as the API server does for pods.
api::ResourceAmounts ContainerRequests(const Json& container) {
  api::ResourceAmounts requests = AmountsOf(Find(container, {"resources", "limits"}));
  for (const auto& [name, amount] : AmountsOf(Find(container, {"resources", "requests"}))) {
    requests[name] = amount;
  }
  return requests;
}

void RaiseTo(api::ResourceAmounts& most, const api::ResourceAmounts& amounts) {
  for (const auto& [name, amount] : amounts) most[name] = std::max(most[name], amount);
}

}  // namespace

api::ResourceAmounts AmountsOf(const Json* quantities) {
  api::ResourceAmounts amounts;
  if (quantities == nullptr || !quantities->is_object()) return amounts;
  for (const auto& [name, quantity] : quantities->items()) {
    const std::string text =
        quantity.is_string() ? quantity.get<std::string>() : api::FormatJson(quantity);
    if (const auto amount = api::ParseAmount(name, text)) amounts[name] = *amount;
  }
  return amounts;
}

api::ResourceAmounts PodRequests(const Json& pod_spec) {
  api::ResourceAmounts sum;
  for (const Json& container : ArrayAt(pod_spec, {"containers"})) {
    AddTo(sum, ContainerRequests(container));
  }
  api::ResourceAmounts sidecars;
  api::ResourceAmounts starting;
  for (const Json& container : ArrayAt(pod_spec, {"initContainers"})) {
    api::ResourceAmounts requests = ContainerRequests(container);
    if (StringAt(container, {"restartPolicy"}) == "Always") {
      AddTo(sidecars, requests);
      RaiseTo(starting, sidecars);
      continue;
    }
    AddTo(requests, sidecars);
    RaiseTo(starting, requests);
  }
  AddTo(sum, sidecars);
  RaiseTo(sum, starting);
  for (const auto& [name, amount] : AmountsOf(Find(pod_spec, {"resources", "requests"}))) {
    sum[name] = amount;
  }
  AddTo(sum, AmountsOf(Find(pod_spec, {"overhead"})));
  return sum;
}

void AddTo(api::ResourceAmounts& sum, const api::ResourceAmounts& amounts) {
  for (const auto& [name, amount] : amounts) sum[name] = api::AddAmounts(sum[name], amount);
}

void TakeFrom(api::ResourceAmounts& sum, const api::ResourceAmounts& amounts) {
  for (const auto& [name, amount] : amounts) sum[name] = api::SubtractAmounts(sum[name], amount);
}

std::optional<std::string> DeviceRefusal(const Json& pod_spec, const Json& node) {
  if (LabelOf(node, kOneShareLabel) != "true") return std::nullopt;
  for (const Json& container : ArrayAt(pod_spec, {"containers"})) {
    for (const auto& [resource, amount] : ContainerRequests(container)) {
      if (!api::IsGpuResource(resource) || amount <= 1) continue;
      return "Pod was rejected: Allocate failed due to rpc error: code = Unknown desc = request "
             "for '" +
             resource + ": " + std::to_string(amount) +
             "' too large: maximum request size for shared resources is 1, which is unexpected";
    }
  }
  return std::nullopt;
}

}  // namespace berth::local::cluster

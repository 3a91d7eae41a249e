#include "local/apiserver/registry/pod_amounts.h"

#include <algorithm>

#include "api/codec/json_write.h"
#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

void AddAll(api::ResourceAmounts& sum, const api::ResourceAmounts& amounts) {
  for (const auto& [name, amount] : amounts) sum[name] = api::AddAmounts(sum[name], amount);
}

void RaiseAll(api::ResourceAmounts& most, const api::ResourceAmounts& amounts) {
  for (const auto& [name, amount] : amounts) most[name] = std::max(most[name], amount);
}

}  // namespace

api::ResourceAmounts AmountsIn(const Json* quantities) {
  api::ResourceAmounts amounts;
  if (quantities == nullptr || !quantities->is_object()) return amounts;
  for (const auto& [name, quantity] : quantities->items()) {
    const std::string text =
        quantity.is_string() ? quantity.get<std::string>() : api::FormatJson(quantity);
    if (const auto amount = api::ParseAmount(name, text)) amounts[name] = *amount;
  }
  return amounts;
}

api::ResourceAmounts PodAmounts(const Json& pod_spec, const char* field) {
  api::ResourceAmounts sum;
  for (const Json& container : ArrayAt(pod_spec, {"containers"})) {
    AddAll(sum, AmountsIn(At(container, {"resources", field})));
  }
  api::ResourceAmounts sidecars;
  api::ResourceAmounts starting;
  for (const Json& container : ArrayAt(pod_spec, {"initContainers"})) {
    api::ResourceAmounts amounts = AmountsIn(At(container, {"resources", field}));
    if (TextAt(container, {"restartPolicy"}) == "Always") {
      AddAll(sidecars, amounts);
      RaiseAll(starting, sidecars);
      continue;
    }
    AddAll(amounts, sidecars);
    RaiseAll(starting, amounts);
  }
  AddAll(sum, sidecars);
  RaiseAll(sum, starting);
  for (const auto& [name, amount] : AmountsIn(At(pod_spec, {"resources", field}))) {
    sum[name] = amount;
  }
  AddAll(sum, AmountsIn(Member(pod_spec, "overhead")));
  return sum;
}

}  // namespace berth::local

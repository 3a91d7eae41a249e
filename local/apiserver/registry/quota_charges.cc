#include "local/apiserver/registry/quota_charges.h"

#include "local/apiserver/registry/errors.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/quota_usage.h"

namespace berth::local {
namespace {

constexpr const char* kQuotas = "resourcequotas";

// The quota with `usage` added to status.used; null: it counts none of it.
Json Charged(const Json& quota, const api::ResourceAmounts& usage) {
  Json next = quota;
  bool counts = false;
  for (const auto& [name, limit] : quota["spec"]["hard"].items()) {
    const auto asked = usage.find(name);
    if (asked == usage.end() || asked->second == 0) continue;
    Json& used = next["status"]["used"][name];
    used = QuotaText(name, api::AddAmounts(QuotaAmount(name, used), asked->second));
    counts = true;
  }
  return counts ? next : Json();
}

}  // namespace

ApiResult<std::vector<Write>> QuotaCharges(const Store& store, const RequestContext& context,
                                           const Json& object) {
  std::vector<Write> writes;
  const std::string& storage = context.resource->storage;
  if (!context.resource->namespaced || storage == "events") return writes;
  for (const StoredPtr& listed : store.cache().List(kQuotas, context.namespace_name).objects) {
    const StoredPtr stored = store.GetLatest(listed->key());
    const Object quota = stored == nullptr ? nullptr : stored->json();
    if (quota == nullptr || At(*quota, {"spec", "hard"}) == nullptr) continue;
    if (!IsInScope(*quota, storage, object)) continue;
    const api::ResourceAmounts usage = QuotaUsage(storage, object);
    std::string why = storage == "pods" ? MissingForQuota(*quota, object) : "";
    if (why.empty()) why = QuotaRefusal(*quota, usage);
    if (!why.empty()) return ForbiddenStatus(context.resource->id, context.name, why);
    Json charged = Charged(*quota, usage);
    if (charged.is_null()) continue;
    writes.push_back({Write::Kind::kUpdate, stored->key(), std::move(charged), stored->revision()});
  }
  return writes;
}

}  // namespace berth::local

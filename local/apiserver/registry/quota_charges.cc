#include "local/apiserver/registry/quota_charges.h"

#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/quota_usage.h"
#include "local/apiserver/registry/status_errors.h"

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

// Whether a change of the object can take more of a quota.
bool MayTakeMore(const RequestContext& context, const Json& object, const Json& old_object) {
  if (!context.subresource.empty()) return false;
  const std::string& storage = context.resource->storage;
  if (storage == "services" || storage == "persistentvolumeclaims") return true;
  const auto has_deadline = [](const Json& pod) {
    return At(pod, {"spec", "activeDeadlineSeconds"}) != nullptr;
  };
  return storage == "pods" && has_deadline(object) != has_deadline(old_object);
}

// What `usage` has more than `before`.
api::ResourceAmounts Increase(const api::ResourceAmounts& usage,
                              const api::ResourceAmounts& before) {
  api::ResourceAmounts increase;
  for (const auto& [name, amount] : usage) {
    const auto old = before.find(name);
    const api::Amount more =
        old == before.end() ? amount : api::SubtractAmounts(amount, old->second);
    if (more > 0) increase[name] = more;
  }
  return increase;
}

}  // namespace

ApiResult<std::vector<Write>> QuotaCharges(const Store& store, const RequestContext& context,
                                           const Json& object, const Json* old_object) {
  std::vector<Write> writes;
  const std::string& storage = context.resource->storage;
  if (!context.resource->namespaced || storage == "events") return writes;
  if (old_object != nullptr && !MayTakeMore(context, object, *old_object)) return writes;
  for (const StoredPtr& listed : store.cache().List(kQuotas, context.namespace_name).objects) {
    const StoredPtr stored = store.GetLatest(listed->key());
    const Object quota = stored == nullptr ? nullptr : stored->json();
    if (quota == nullptr || At(*quota, {"spec", "hard"}) == nullptr) continue;
    if (!IsInScope(*quota, storage, object)) continue;
    api::ResourceAmounts usage = QuotaUsage(storage, object);
    if (old_object != nullptr && IsInScope(*quota, storage, *old_object)) {
      usage = Increase(usage, QuotaUsage(storage, *old_object));
    }
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

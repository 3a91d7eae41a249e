#include "local/cluster/policies/quota_controller.h"

#include <algorithm>

#include "local/apiserver/registry/quota_usage.h"
#include "local/cluster/objects/resource_ids.h"
#include "local/cluster/replicas/claiming.h"

namespace berth::local::cluster {
namespace {

// Pods end in batches: one count per interval.
constexpr Duration kQuotaBatch = std::chrono::milliseconds(50);

std::string StorageName(const ResourceId& resource) {
  return resource.group.empty() ? resource.resource : resource.resource + "." + resource.group;
}

}  // namespace

QuotaController::QuotaController(WholeApi& api, ObjectCache& cache, Executor& executor,
                                 const Clock& clock)
    : api_(api),
      cache_(cache),
      executor_(executor),
      writer_(api, cache, "kube-controller-manager"),
      quotas_(
          executor, "resourcequota", [this](const ObjectKey& key) { return Look(key); },
          LookOptions(clock)) {
  cache_.Listen(kPods, [this](const ObjectChange& change) { OnPod(change); });
  cache_.Listen(kResourceQuotas, [this](const ObjectChange& change) {
    if (change.current != nullptr) quotas_.Add(KeyOf(*change.current));
  });
}

void QuotaController::Start() {
  for (const Object& quota : cache_.All(kResourceQuotas)) quotas_.Add(KeyOf(*quota));
  quotas_.Start();
}

// The end of a pod gives its resources back while the object stays, and so does a deadline that
// takes the pod out of the scope NotTerminating.
void QuotaController::OnPod(const ObjectChange& change) {
  if (change.previous == nullptr || change.current == nullptr) return;
  const bool ends = !HasEnded(*change.previous) && HasEnded(*change.current);
  const auto has_deadline = [](const Object& pod) {
    return Find(*pod, {"spec", "activeDeadlineSeconds"}) != nullptr;
  };
  const bool moves = has_deadline(change.previous) != has_deadline(change.current);
  if (ends || moves) AddQuotasOf(NamespaceOf(*change.current));
}

void QuotaController::WatchDeletions() {
  if (deletions_ != nullptr) return;
  deletions_ =
      api_.WatchAll(WatchFrom::kNow, [this, inbox = inbox_, alive = std::weak_ptr<bool>(alive_)](
                                         const ResourceId& /*resource*/, const WatchEvent& event) {
        if (event.type != WatchEvent::Type::kDeleted) return;
        {
          const std::lock_guard lock(inbox->mutex);
          inbox->namespaces.insert(NamespaceOf(*event.object));
          if (inbox->drain_is_posted) return;
          inbox->drain_is_posted = true;
        }
        executor_.Post([this, alive] {
          if (!alive.expired()) Drain();
        });
      });
}

void QuotaController::Drain() {
  std::set<std::string> namespaces;
  {
    const std::lock_guard lock(inbox_->mutex);
    namespaces.swap(inbox_->namespaces);
    inbox_->drain_is_posted = false;
  }
  for (const std::string& name : namespaces) AddQuotasOf(name);
}

void QuotaController::AddQuotasOf(const std::string& namespace_name) {
  for (const Object& quota : cache_.All(kResourceQuotas)) {
    if (NamespaceOf(*quota) == namespace_name) quotas_.AddAfter(KeyOf(*quota), kQuotaBatch);
  }
}

Result<NextLook> QuotaController::Look(const ObjectKey& key) {
  const Object quota = cache_.Get(kResourceQuotas, key);
  if (quota == nullptr) return NextLook{};
  WatchDeletions();
  // What is counted is at least as new as the quota that is read before.
  std::optional<ApiError> failure;
  const auto written = writer_.EditStatus(kResourceQuotas, key, UidOf(*quota), [&](Json& one) {
    auto used = Count(one);
    if (!used) {
      failure = used.error();
      return false;
    }
    const Json* hard = Find(one, {"spec", "hard"});
    Json status = {{"hard", hard == nullptr ? Json::object() : *hard}, {"used", std::move(*used)}};
    if (one.value("status", Json::object()) == status) return false;
    one["status"] = std::move(status);
    return true;
  });
  if (failure) return ToError(*failure);
  BERTH_CHECK_OK(Settled(written));
  return NextLook{};
}

ApiResult<Json> QuotaController::Count(const Json& quota) {
  api::ResourceAmounts sum;
  const std::vector<std::string> counted = CountedKinds(quota);
  for (const WholeApi::KindInfo& kind : api_.Kinds()) {
    const std::string storage = StorageName(kind.id);
    if (!kind.namespaced || std::find(counted.begin(), counted.end(), storage) == counted.end()) {
      continue;
    }
    const auto list = api_.List(kind.id, NamespaceOf(quota), {});
    if (!list) return list.error();
    for (const Object& object : list->items) {
      if (!IsInScope(quota, storage, *object)) continue;
      for (const auto& [name, amount] : QuotaUsage(storage, *object)) {
        sum[name] = api::AddAmounts(sum[name], amount);
      }
    }
  }
  Json used = Json::object();
  const Json* hard = Find(quota, {"spec", "hard"});
  if (hard == nullptr) return used;
  for (const auto& [name, limit] : hard->items()) {
    const auto found = sum.find(name);
    used[name] = QuotaText(name, found == sum.end() ? 0 : found->second);
  }
  return used;
}

}  // namespace berth::local::cluster

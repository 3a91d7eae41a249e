#include "local/apiserver/registry/pod_subresources.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/rfc3339.h"
#include "local/apiserver/registry/eviction_rule.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"

namespace berth::local {
namespace {

constexpr const char* kDisruptionBudgets = "poddisruptionbudgets.policy";
constexpr int kBudgetTries = 16;

Json Success() {
  return {{"kind", "Status"},
          {"apiVersion", "v1"},
          {"metadata", Json::object()},
          {"status", "Success"},
          {"code", 201}};
}

// Sets or adds the condition of `type`; conditions keep their order.
void SetCondition(Json& object, Json condition) {
  Json& conditions = object["status"]["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  for (Json& known : conditions) {
    if (known["type"] != condition["type"]) continue;
    known = std::move(condition);
    return;
  }
  conditions.push_back(std::move(condition));
}

// The pod on the node that the binding names.
ApiResult<Json> BoundPod(const Json& pod, const Json& binding, const ResourceId& pods,
                         WallTime now) {
  const std::string node = TextAt(binding, {"target", "name"});
  const std::string name = NameOf(pod);
  if (node.empty()) {
    return InvalidStatus("", "Binding", name, {RequiredError("target.name")});
  }
  const auto refuse = [&](const std::string& why) { return ConflictStatus(pods, name, why); };
  if (IsBeingDeleted(pod)) {
    return refuse("pod " + name + " is being deleted, cannot be assigned to a host");
  }
  const std::string assigned = TextAt(pod, {"spec", "nodeName"});
  if (!assigned.empty()) {
    return refuse("pod " + name + " is already assigned to node \"" + assigned + "\"");
  }
  if (!ArrayAt(pod, {"spec", "schedulingGates"}).empty()) {
    return refuse("pod " + name + " has non-empty .spec.schedulingGates");
  }
  Json next = pod;
  next["spec"]["nodeName"] = node;
  if (const Json* annotations = At(binding, {"metadata", "annotations"})) {
    for (const auto& [key, value] : annotations->items()) {
      next["metadata"]["annotations"][key] = value;
    }
  }
  SetCondition(next, {{"type", "PodScheduled"},
                      {"status", "True"},
                      {"lastProbeTime", nullptr},
                      {"lastTransitionTime", FormatTime(now)},
                      {"observedGeneration", IntAt(pod, {"metadata", "generation"}, 0)}});
  return next;
}

}  // namespace

ApiResult<Json> PodSubresources::Bind(RequestContext& context, const Json& binding) {
  const ObjectUpdater::Change bind = [&](const Json& pod) {
    return BoundPod(pod, binding, context.resource->id, stages_.clock.Now());
  };
  auto bound = updater_.Modify(context, bind, Tracking::kUpdate);
  if (!bound) return bound.error();
  return Success();
}

// Another eviction may spend the budget first: then it is read again.
std::optional<ApiError> PodSubresources::SpendBudget(const RequestContext& context,
                                                     const Json& pod) {
  for (int attempt = 1;; ++attempt) {
    std::vector<Object> budgets;
    std::map<std::string, StoredPtr> stored_by_name;
    for (const StoredPtr& listed :
         store_.cache().List(kDisruptionBudgets, context.namespace_name).objects) {
      StoredPtr stored = store_.GetLatest(listed->key());
      if (stored == nullptr) continue;
      budgets.push_back(stored->json());
      stored_by_name[stored->key().name] = std::move(stored);
    }
    EvictionVerdict verdict = JudgeEviction(pod, budgets, stages_.clock.Now());
    if (verdict.refusal) return verdict.refusal;
    if (!verdict.budget || context.dry_run) return std::nullopt;
    const StoredPtr& stored = stored_by_name.at(NameOf(*verdict.budget));
    const auto done = store_.Commit(
        {{Write::Kind::kUpdate, stored->key(), std::move(*verdict.budget), stored->revision()}});
    if (done) return std::nullopt;
    const bool again = done.error().code == ErrorCode::kConflict && attempt < kBudgetTries;
    if (!again) return StoreRefusal(done.error(), context);
  }
}

ApiResult<Json> PodSubresources::Evict(RequestContext& context, const Json& eviction) {
  const StoredPtr stored = store_.GetLatest(context.key());
  const Object pod = stored == nullptr ? nullptr : stored->json();
  if (pod == nullptr) return stages_.committer.Missing(context);
  if (auto refusal = SpendBudget(context, *pod)) return *refusal;
  if (!context.dry_run && !IsBeingDeleted(*pod)) {
    context.subresource = "status";
    const ObjectUpdater::Change disrupt = [&](const Json& current) -> ApiResult<Json> {
      Json next = current;
      SetCondition(next, {{"type", "DisruptionTarget"},
                          {"status", "True"},
                          {"reason", "EvictionByEvictionAPI"},
                          {"message", "Eviction API: evicting"},
                          {"lastProbeTime", nullptr},
                          {"lastTransitionTime", FormatTime(stages_.clock.Now())},
                          {"observedGeneration", IntAt(current, {"metadata", "generation"}, 0)}});
      return next;
    };
    auto marked = updater_.Modify(context, disrupt, Tracking::kUpdate);
    if (!marked) return marked.error();
  }
  DeleteOptions options;
  options.grace_period_seconds = IntAt(eviction, {"deleteOptions", "gracePeriodSeconds"}, -1);
  options.precondition_uid = UidOf(*pod);
  context.subresource.clear();
  auto deleted = deleter_.Delete(context, options);
  if (!deleted) return deleted.error();
  return Success();
}

}  // namespace berth::local

// Pods' binding and eviction; scale.
#include <map>

#include "base/rfc3339.h"
#include "local/apiserver/patch/json_patch.h"
#include "local/apiserver/registry/errors.h"
#include "local/apiserver/registry/eviction_rule.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/registry.h"
#include "local/apiserver/schema/printer_columns.h"

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

ApiResult<Json> Bind(const Json& pod, const Json& binding, const ResourceId& pods, WallTime now) {
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

std::vector<std::string> PathParts(const std::string& dotted) {
  std::vector<std::string> parts;
  std::size_t start = dotted.empty() || dotted.front() != '.' ? 0 : 1;
  while (start <= dotted.size()) {
    const std::size_t dot = dotted.find('.', start);
    parts.push_back(dotted.substr(start, dot == std::string::npos ? dot : dot - start));
    if (dot == std::string::npos) break;
    start = dot + 1;
  }
  return parts;
}

const Json* ValueAt(const Json& object, const std::string& dotted) {
  const Json* here = &object;
  for (const std::string& part : PathParts(dotted)) {
    here = Member(*here, part);
    if (here == nullptr) return nullptr;
  }
  return here;
}

Json ScaleOf(const Json& object, const CrdScale& paths) {
  Json metadata = Json::object();
  for (const char* field : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const Json* value = At(object, {"metadata", field})) metadata[field] = *value;
  }
  const Json* replicas = ValueAt(object, paths.spec_replicas_path);
  const Json* current = ValueAt(object, paths.status_replicas_path);
  Json scale{{"kind", "Scale"},
             {"apiVersion", "autoscaling/v1"},
             {"metadata", std::move(metadata)},
             {"spec", Json::object()},
             {"status", {{"replicas", current == nullptr ? Json(0) : *current}}}};
  if (replicas != nullptr) scale["spec"]["replicas"] = *replicas;
  const Json* selector =
      paths.label_selector_path.empty() ? nullptr : ValueAt(object, paths.label_selector_path);
  if (selector == nullptr) return scale;
  const bool is_map = selector->is_object() && TextAt(object, {"kind"}) == "ReplicationController";
  if (!selector->is_object()) {
    scale["status"]["selector"] = *selector;
  } else if (const auto map = LabelSelectorFromJson({{"matchLabels", *selector}}); is_map && map) {
    scale["status"]["selector"] = FormatLabelSelector(*map);
  } else if (const auto parsed = LabelSelectorFromJson(*selector); parsed) {
    scale["status"]["selector"] = FormatLabelSelector(*parsed);  // a built-in kind
  }
  return scale;
}

const CrdScale* ScaleOf(const ResourceInfo& resource) {
  static const CrdScale kBuiltin{".spec.replicas", ".status.replicas", ".spec.selector"};
  if (resource.crd_version != nullptr) return resource.crd_version->scale.get();
  return resource.FindSubresource("scale") == nullptr ? nullptr : &kBuiltin;
}

}  // namespace

ApiResult<Json> Registry::CreateSubresource(RequestContext& context, Body body) {
  const ResourceInfo& resource = *context.resource;
  if (resource.storage == "serviceaccounts") return RequestToken(context, std::move(body.object));
  if (resource.storage != "pods") return UnknownPathStatus();
  if (context.subresource == "binding") {
    const Change bind = [&](const Json& pod) { return Bind(pod, body.object, resource.id, Now()); };
    auto bound = Modify(context, bind, Tracking::kUpdate);
    if (!bound) return bound.error();
    return Success();
  }
  if (context.subresource == "eviction") return Evict(context, body.object);
  return UnknownPathStatus();
}

// Another eviction may spend the budget first: then it is read again.
std::optional<ApiError> Registry::SpendBudget(const RequestContext& context, const Json& pod) {
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
    EvictionVerdict verdict = JudgeEviction(pod, budgets, Now());
    if (verdict.refusal) return verdict.refusal;
    if (!verdict.budget || context.dry_run) return std::nullopt;
    const StoredPtr& stored = stored_by_name.at(NameOf(*verdict.budget));
    const auto done = store_.Commit(
        {{Write::Kind::kUpdate, stored->key(), std::move(*verdict.budget), stored->revision()}});
    if (done) return std::nullopt;
    const bool again = done.error().code == ErrorCode::kConflict && attempt < kBudgetTries;
    if (!again) return FromStore(done.error(), context);
  }
}

ApiResult<Json> Registry::Evict(RequestContext& context, const Json& eviction) {
  const StoredPtr stored = store_.GetLatest(context.key());
  const Object pod = stored == nullptr ? nullptr : stored->json();
  if (pod == nullptr) return Missing(context);
  if (auto refusal = SpendBudget(context, *pod)) return *refusal;
  if (!context.dry_run && !IsBeingDeleted(*pod)) {
    context.subresource = "status";
    const Change disrupt = [&](const Json& current) -> ApiResult<Json> {
      Json next = current;
      SetCondition(next, {{"type", "DisruptionTarget"},
                          {"status", "True"},
                          {"reason", "EvictionByEvictionAPI"},
                          {"message", "Eviction API: evicting"},
                          {"lastProbeTime", nullptr},
                          {"lastTransitionTime", FormatTime(Now())},
                          {"observedGeneration", IntAt(current, {"metadata", "generation"}, 0)}});
      return next;
    };
    auto marked = Modify(context, disrupt, Tracking::kUpdate);
    if (!marked) return marked.error();
  }
  DeleteOptions options;
  options.grace_period_seconds = IntAt(eviction, {"deleteOptions", "gracePeriodSeconds"}, -1);
  options.precondition_uid = UidOf(*pod);
  context.subresource.clear();
  auto deleted = Delete(context, options);
  if (!deleted) return deleted.error();
  return Success();
}

ApiResult<Json> Registry::GetScale(const RequestContext& context) {
  const CrdScale* paths = ScaleOf(*context.resource);
  if (paths == nullptr) return UnknownPathStatus();
  auto stored = Get(context);
  if (!stored) return stored.error();
  const Object object = (*stored)->json();
  if (object == nullptr) return InternalStatus("the stored object cannot be read");
  return ScaleOf(*object, *paths);
}

ApiResult<Json> Registry::UpdateScale(RequestContext& context, Body body) {
  const CrdScale* paths = ScaleOf(*context.resource);
  if (paths == nullptr) return UnknownPathStatus();
  const Json* replicas = At(body.object, {"spec", "replicas"});
  if (replicas == nullptr || !replicas->is_number_integer() || *replicas < 0) {
    return InvalidStatus("autoscaling", "Scale", context.name,
                         {InvalidError("spec.replicas", replicas == nullptr ? Json() : *replicas,
                                       "must be greater than or equal to 0")});
  }
  const Change set = [&](const Json& current) -> ApiResult<Json> {
    Json next = current;
    Json* here = &next;
    for (const std::string& part : PathParts(paths->spec_replicas_path)) here = &(*here)[part];
    *here = *replicas;
    const std::string revision = TextAt(body.object, {"metadata", "resourceVersion"});
    if (!revision.empty()) next["metadata"]["resourceVersion"] = revision;
    return next;
  };
  auto done = Modify(context, set, Tracking::kUpdate);
  if (!done) return done.error();
  return ScaleOf(*done->object, *paths);
}

ApiResult<Json> Registry::PatchScale(RequestContext& context, PatchRequest patch) {
  auto current = GetScale(context);
  if (!current) return current.error();
  auto next = patch.type == PatchType::kJson ? ApplyJsonPatch(*current, patch.body.object)
                                             : ApplyMergePatch(*current, patch.body.object);
  if (!next) return next.error();
  // Only a client that names a revision depends on it.
  if (At(patch.body.object, {"metadata", "resourceVersion"}) == nullptr && next->is_object()) {
    (*next)["metadata"].erase("resourceVersion");
  }
  return UpdateScale(context, {std::move(*next), {}});
}

std::optional<ApiError> Registry::AdmitConnect(RequestContext& context, Json options) {
  AdmissionRequest request =
      MakeAdmission(context, AdmissionRequest::Operation::kConnect, nullptr, nullptr);
  request.object_kind = TextAt(options, {"kind"});
  const auto accept = [](const Json& /*changed*/) -> std::optional<ApiError> {
    return std::nullopt;
  };
  if (auto error = admission_.Mutate(request, options, accept)) return error;
  return admission_.Validate(request, &options);
}

}  // namespace berth::local

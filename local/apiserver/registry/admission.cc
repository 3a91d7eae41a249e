#include "local/apiserver/registry/admission.h"

#include <algorithm>

#include "api/codec/json_write.h"
#include "api/quantity.h"
#include "base/strings.h"
#include "local/apiserver/registry/account_volume.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/pod_limits.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/webhooks/dispatch.h"

namespace berth::local {
namespace {

using Operation = AdmissionRequest::Operation;

constexpr std::string_view kRuntimeClasses = "runtimeclasses.node.k8s.io";
constexpr std::string_view kPriorityClasses = "priorityclasses.scheduling.k8s.io";
constexpr std::string_view kStorageClasses = "storageclasses.storage.k8s.io";
constexpr std::string_view kIsDefault = "storageclass.kubernetes.io/is-default-class";

void AddFinalizer(Json& object, const char* finalizer) {
  Json& finalizers = object["metadata"]["finalizers"];
  if (!finalizers.is_array()) finalizers = Json::array();
  if (std::find(finalizers.begin(), finalizers.end(), Json(finalizer)) == finalizers.end()) {
    finalizers.push_back(finalizer);
  }
}

void AddToleration(Json& spec, const char* key) {
  for (const Json& toleration : ArrayAt(spec, {"tolerations"})) {
    const std::string known = TextAt(toleration, {"key"});
    const std::string effect = TextAt(toleration, {"effect"});
    if ((known == key || known.empty()) && (effect == "NoExecute" || effect.empty())) return;
  }
  spec["tolerations"].push_back(Json{
      {"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", 300}});
}

}  // namespace

AdmissionRequest MakeAdmissionRequest(RequestContext& context,
                                      AdmissionRequest::Operation operation, const Json* object,
                                      const Json* old_object) {
  AdmissionRequest request;
  request.context = &context;
  request.operation = operation;
  request.name = context.name.empty() && object != nullptr ? NameOf(*object) : context.name;
  request.old_object = old_object;
  return request;
}

std::optional<ApiError> AdmissionChain::CheckNamespace(const AdmissionRequest& request) const {
  const RequestContext& context = *request.context;
  if (!context.resource->namespaced || request.operation != Operation::kCreate) {
    return std::nullopt;
  }
  const StoredPtr stored = store_.GetLatest({"namespaces", "", context.namespace_name});
  if (stored == nullptr) {
    return NotFoundStatus({"", "v1", "namespaces"}, context.namespace_name);
  }
  const Object object = stored->json();
  if (object == nullptr || !IsBeingDeleted(*object)) return std::nullopt;
  const std::string& name = context.namespace_name;
  ApiError error = ForbiddenStatus(
      context.resource->id, request.name,
      "unable to create new content in namespace " + name + " because it is being terminated");
  error.details["causes"] = Json::array({{{"reason", "NamespaceTerminating"},
                                          {"message", "namespace " + name + " is being terminated"},
                                          {"field", "metadata.namespace"}}});
  return error;
}

std::optional<ApiError> AdmissionChain::SetPriority(const AdmissionRequest& request,
                                                    Json& pod) const {
  Json& spec = pod["spec"];
  std::string name = TextAt(spec, {"priorityClassName"});
  Object chosen;
  if (!name.empty()) {
    const StoredPtr stored = store_.GetLatest({std::string(kPriorityClasses), "", name});
    if (stored != nullptr) chosen = stored->json();
    if (chosen == nullptr) {
      return ForbiddenStatus(request.context->resource->id, request.name,
                             "no PriorityClass with name " + name + " was found");
    }
  } else {
    for (const StoredPtr& stored : store_.cache().List(kPriorityClasses, "").objects) {
      const Object object = stored->json();
      if (object != nullptr && BoolAt(*object, {"globalDefault"}, false)) chosen = object;
    }
    if (chosen != nullptr) spec["priorityClassName"] = NameOf(*chosen);
  }
  const std::int64_t priority = chosen == nullptr ? 0 : IntAt(*chosen, {"value"}, 0);
  if (const Json* given = Member(spec, "priority"); given != nullptr && *given != priority) {
    return ForbiddenStatus(request.context->resource->id, request.name,
                           "the integer value of priority (" + api::FormatJson(*given) +
                               ") must not be provided in pod spec; priority admission controller "
                               "computed " +
                               std::to_string(priority) + " from the given PriorityClass name");
  }
  spec["priority"] = priority;
  if (Member(spec, "preemptionPolicy") == nullptr) {
    const std::string policy =
        chosen == nullptr ? std::string() : TextAt(*chosen, {"preemptionPolicy"});
    spec["preemptionPolicy"] = policy.empty() ? "PreemptLowerPriority" : policy;
  }
  return std::nullopt;
}

std::optional<ApiError> AdmissionChain::UseRuntimeClass(const AdmissionRequest& request,
                                                        Json& pod) const {
  const ResourceId& pods = request.context->resource->id;
  const std::string name = TextAt(pod, {"spec", "runtimeClassName"});
  if (name.empty()) {
    const Json* overhead = At(pod, {"spec", "overhead"});
    if (overhead == nullptr || overhead->empty()) return std::nullopt;
    return ForbiddenStatus(pods, request.name,
                           "pod rejected: Pod Overhead set without corresponding RuntimeClass "
                           "defined Overhead");
  }
  const StoredPtr stored = store_.GetLatest({std::string(kRuntimeClasses), "", name});
  const Object found = stored == nullptr ? nullptr : stored->json();
  if (found == nullptr) {
    return ForbiddenStatus(pods, request.name,
                           "pod rejected: RuntimeClass \"" + name + "\" not found");
  }
  const auto why = ApplyRuntimeClass(*found, pod);
  if (why) return ForbiddenStatus(pods, request.name, *why);
  return std::nullopt;
}

std::vector<Object> AdmissionChain::RangesOf(const std::string& namespace_name) const {
  std::vector<Object> ranges;
  for (const StoredPtr& stored : store_.cache().List("limitranges", namespace_name).objects) {
    if (Object range = stored->json()) ranges.push_back(std::move(range));
  }
  return ranges;
}

std::optional<ApiError> AdmissionChain::CheckLimits(const AdmissionRequest& request,
                                                    const Json& object) const {
  const RequestContext& context = *request.context;
  const std::string& storage = context.resource->storage;
  const bool is_pod = storage == "pods";
  if (request.operation != Operation::kCreate || !context.subresource.empty() ||
      (!is_pod && storage != "persistentvolumeclaims")) {
    return std::nullopt;
  }
  const std::vector<Object> ranges = RangesOf(context.namespace_name);
  if (ranges.empty()) return std::nullopt;
  const std::vector<std::string> why =
      is_pod ? LimitViolations(ranges, object) : ClaimViolations(ranges, object);
  if (why.empty()) return std::nullopt;
  return ForbiddenStatus(context.resource->id, request.name,
                         why.size() == 1 ? why[0] : "[" + Join(why, ", ") + "]");
}

std::optional<ApiError> AdmissionChain::UseAccount(const AdmissionRequest& request,
                                                   Json& pod) const {
  Json& spec = pod["spec"];
  std::string name = TextAt(spec, {"serviceAccountName"});
  if (name.empty()) name = "default";
  const std::string& namespace_name = request.context->namespace_name;
  const StoredPtr stored = store_.GetLatest({"serviceaccounts", namespace_name, name});
  const Object account = stored == nullptr ? nullptr : stored->json();
  if (account == nullptr) {
    return ForbiddenStatus(request.context->resource->id, request.name,
                           "error looking up service account " + namespace_name + "/" + name +
                               ": serviceaccount \"" + name + "\" not found");
  }
  spec["serviceAccountName"] = name;
  spec["serviceAccount"] = name;
  if (token_volumes_ != nullptr) MountAccountToken(*account, token_volumes_, pod);
  AddPullSecrets(*account, pod);
  return std::nullopt;
}

std::optional<ApiError> AdmissionChain::DefaultPod(const AdmissionRequest& request,
                                                   Json& pod) const {
  if (auto error = UseAccount(request, pod)) return error;
  const std::string& namespace_name = request.context->namespace_name;
  Json& spec = pod["spec"];
  if (auto error = SetPriority(request, pod)) return error;
  if (auto error = UseRuntimeClass(request, pod)) return error;
  if (const auto ranges = RangesOf(namespace_name); !ranges.empty()) {
    ApplyLimitDefaults(ranges, pod);
  }
  AddToleration(spec, "node.kubernetes.io/not-ready");
  AddToleration(spec, "node.kubernetes.io/unreachable");
  return std::nullopt;
}

// If there are several default classes, the newest one counts; the first by name among equals.
void AdmissionChain::DefaultStorageClass(Json& claim) const {
  if (At(claim, {"spec", "storageClassName"}) != nullptr ||
      At(claim, {"metadata", "annotations", "volume.beta.kubernetes.io/storage-class"}) !=
          nullptr) {
    return;
  }
  std::string chosen;
  std::string newest;
  for (const StoredPtr& stored : store_.cache().List(kStorageClasses, "").objects) {
    const Object object = stored->json();
    if (object == nullptr || TextAt(*object, {"metadata", "annotations", kIsDefault}) != "true") {
      continue;
    }
    const std::string created = TextAt(*object, {"metadata", "creationTimestamp"});
    if (!chosen.empty() && created <= newest) continue;
    chosen = NameOf(*object);
    newest = created;
  }
  if (!chosen.empty()) claim["spec"]["storageClassName"] = chosen;
}

std::optional<ApiError> AdmissionChain::CheckGrowth(const AdmissionRequest& request,
                                                    const Json& claim) const {
  const RequestContext& context = *request.context;
  if (request.operation != Operation::kUpdate || !context.subresource.empty() ||
      context.resource->storage != "persistentvolumeclaims" || request.old_object == nullptr) {
    return std::nullopt;
  }
  const auto asked = [](const Json& one) {
    const std::string text = TextAt(one, {"spec", "resources", "requests", "storage"});
    const auto amount = api::ParseAmount("memory", text);
    return amount ? *amount : 0;
  };
  if (asked(claim) <= asked(*request.old_object)) return std::nullopt;
  const std::string name = TextAt(claim, {"spec", "storageClassName"});
  const StoredPtr stored = store_.GetLatest({std::string(kStorageClasses), "", name});
  const Object found = stored == nullptr ? nullptr : stored->json();
  if (found != nullptr && BoolAt(*found, {"allowVolumeExpansion"}, false)) return std::nullopt;
  return ForbiddenStatus(context.resource->id, context.name,
                         "only dynamically provisioned pvc can be resized and the storageclass "
                         "that provisions the pvc must support resize");
}

std::optional<ApiError> AdmissionChain::Mutate(const AdmissionRequest& request, Json& object,
                                               const Accept& accept) const {
  if (auto error = CheckCancellation()) return error;
  if (auto error = CheckNamespace(request)) return error;
  const RequestContext& context = *request.context;
  if (context.resource->storage == "pods" && context.subresource.empty() &&
      request.operation == Operation::kCreate) {
    if (auto error = DefaultPod(request, object)) return error;
  }
  if (request.operation == Operation::kCreate && context.subresource.empty()) {
    const std::string& storage = context.resource->storage;
    if (storage == "persistentvolumeclaims") {
      DefaultStorageClass(object);
      AddFinalizer(object, "kubernetes.io/pvc-protection");
    } else if (storage == "persistentvolumes") {
      AddFinalizer(object, "kubernetes.io/pv-protection");
    }
  }
  const auto again = mutations_.Mutate(request, object, accept);
  if (!again) return again.error();
  const WebhookDispatch webhooks(store_, webhooks_, converter_, roles_, webhook_metrics_);
  if (auto error = webhooks.Mutate(request, object, accept)) return error;
  return mutations_.Repeat(request, *again, object, accept);
}

std::optional<ApiError> AdmissionChain::Validate(const AdmissionRequest& request,
                                                 const Json* object) const {
  if (object != nullptr) {
    if (auto error = CheckLimits(request, *object)) return error;
    if (auto error = CheckGrowth(request, *object)) return error;
  }
  if (auto error = policies_.Validate(request, object)) return error;
  const WebhookDispatch webhooks(store_, webhooks_, converter_, roles_, webhook_metrics_);
  if (auto error = webhooks.Validate(request, object)) return error;
  return CheckCancellation();  // a write that nobody waits for is not committed
}

std::optional<ApiError> AdmissionChain::Connect(RequestContext& context, Json options) const {
  AdmissionRequest request = MakeAdmissionRequest(context, Operation::kConnect, nullptr, nullptr);
  request.object_kind = TextAt(options, {"kind"});
  const auto accept = [](const Json& /*changed*/) -> std::optional<ApiError> {
    return std::nullopt;
  };
  if (auto error = Mutate(request, options, accept)) return error;
  return Validate(request, &options);
}

}  // namespace berth::local

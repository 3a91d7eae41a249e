#include "local/apiserver/registry/object_patcher.h"

#include <string>
#include <utility>
#include <vector>

#include "local/apiserver/patch/json_patch.h"
#include "local/apiserver/patch/managed_fields.h"
#include "local/apiserver/patch/strategic_patch.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/object_decoder.h"
#include "local/apiserver/registry/status_errors.h"

namespace berth::local {
namespace {

ApiResult<Json> ApplyPatch(const ResourceInfo& resource, PatchType type, const Json& current,
                           const Json& patch) {
  switch (type) {
    case PatchType::kJson: return ApplyJsonPatch(current, patch);
    case PatchType::kMerge: return ApplyMergePatch(current, patch);
    case PatchType::kStrategic:
      if (resource.crd == nullptr) return ApplyStrategicMergePatch(*resource.type, current, patch);
      break;
    case PatchType::kApply: break;
  }
  return ApiError{
      415, "UnsupportedMediaType",
      "the body of the request was in an unknown format - accepted media types include: "
      "application/json-patch+json, application/merge-patch+json, "
      "application/apply-patch+yaml",
      Json()};
}

// kubectl's server-side apply takes over the fields of kubectl's client-side apply.
bool OnlyConflictsWithOwnClientSideApply(const ApiError& error, const Json& live,
                                         const std::string& manager) {
  constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";
  if (error.code != 409 || manager != "kubectl") return false;
  if (At(live, {"metadata", "annotations", kLastApplied}) == nullptr) return false;
  const Json& causes = ArrayAt(error.details, {"causes"});
  for (const Json& cause : causes) {
    if (TextAt(cause, {"message"}).rfind("conflict with \"kubectl-client-side-apply\"", 0) != 0) {
      return false;
    }
  }
  return !causes.empty();
}

}  // namespace

ApiResult<WriteResult> ObjectPatcher::Patch(RequestContext& context, PatchRequest patch) {
  const ResourceInfo& resource = *context.resource;
  if (context.subresource.empty() && !resource.Allows('p')) {
    return MethodNotAllowedStatus(resource.id, "patch");
  }
  if (patch.type == PatchType::kApply) return Apply(context, std::move(patch.body), patch.force);
  bool reported = false;
  const ObjectUpdater::Change change = [&](const Json& current) -> ApiResult<Json> {
    auto next = ApplyPatch(resource, patch.type, current, patch.body.object);
    if (!next) return next.error();
    Body body{std::move(*next), patch.body.strict_errors};
    // A retry must not repeat warnings.
    std::vector<std::string> warnings = context.warnings;
    if (auto error = DecodeObject(context, body)) return *error;
    if (reported) context.warnings = std::move(warnings);
    reported = true;
    return std::move(body.object);
  };
  return updater_.Modify(context, change, Tracking::kUpdate);
}

ApiResult<WriteResult> ObjectPatcher::Apply(RequestContext& context, Body body, bool force) {
  const ResourceInfo& resource = *context.resource;
  if (!body.object.is_object()) {
    return BadRequest("error decoding YAML: the patch is no object");
  }
  if (TextAt(body.object, {"apiVersion"}).empty() || TextAt(body.object, {"kind"}).empty()) {
    return BadRequest("invalid object type: apiVersion and kind must be set in an apply patch");
  }
  if (TextAt(body.object, {"apiVersion"}) != resource.api_version() ||
      TextAt(body.object, {"kind"}) != resource.kind) {
    return BadRequest("the kind and version of the patch (" + TextAt(body.object, {"apiVersion"}) +
                      ", " + TextAt(body.object, {"kind"}) +
                      ") do not match those of the request (" + resource.api_version() + ", " +
                      resource.kind + ")");
  }
  // A field that no schema knows fails below, whatever fieldValidation says.
  if (auto error = ReportStrictErrors(context, body.strict_errors)) return *error;
  const ConflictPolicy policy = force ? ConflictPolicy::kForce : ConflictPolicy::kFail;
  const ManagerContext manager = stages_.fields.ManagerOf(context);
  if (stages_.store.GetLatest(context.key()) == nullptr) {
    if (!context.subresource.empty()) return NotFoundStatus(resource.id, context.name);
    auto created = CreateByApply(context, body.object, manager, policy);
    // Another client has created the object: applies to it.
    if (created || created.error().reason != "AlreadyExists") return created;
  }
  const ObjectUpdater::Change change = [&](const Json& current) -> ApiResult<Json> {
    auto applied = ApplyConfiguration(&current, body.object, manager, policy);
    if (!applied &&
        OnlyConflictsWithOwnClientSideApply(applied.error(), current, manager.manager)) {
      applied = ApplyConfiguration(&current, body.object, manager, ConflictPolicy::kForce);
    }
    if (!applied) return applied.error();
    if (!applied->changed) return current;
    if (auto error = CompleteObject(resource, applied->object, nullptr)) return *error;
    return std::move(applied->object);
  };
  return updater_.Modify(context, change, Tracking::kDone);
}

ApiResult<WriteResult> ObjectPatcher::CreateByApply(RequestContext& context, const Json& config,
                                                    const ManagerContext& manager,
                                                    ConflictPolicy policy) {
  if (auto error = rights_.CheckMayCreate(context)) return *error;
  auto applied = ApplyConfiguration(nullptr, config, manager, policy);
  if (!applied) return applied.error();
  Json object = std::move(applied->object);
  object["metadata"]["name"] = context.name;
  if (auto error = CompleteObject(*context.resource, object, nullptr)) return *error;
  if (!UidOf(config).empty()) {
    return ConflictStatus(context.resource->id, context.name,
                          "uid mismatch: the provided object specified uid " + UidOf(config) +
                              ", and no existing object was found");
  }
  return creator_.CreateDecoded(context, std::move(object), Tracking::kDone);
}

}  // namespace berth::local

#include "local/apiserver/registry/object_updater.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "local/apiserver/policies/policy_dispatch.h"
#include "local/apiserver/registry/crd.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/object_decoder.h"
#include "local/apiserver/registry/policy_types.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/registry/strategy.h"

namespace berth::local {
namespace {

constexpr int kUpdateTries = 5;

using Operation = AdmissionRequest::Operation;

// Fields that only the server sets.
constexpr const char* kServerOwned[] = {
    "uid",        "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
    "generation", "selfLink"};

void KeepServerOwned(Json& metadata, const Json& old_metadata) {
  for (const char* field : kServerOwned) {
    if (const auto it = old_metadata.find(field); it != old_metadata.end()) {
      metadata[field] = *it;
    } else {
      metadata.erase(field);
    }
  }
}

// The URL supplies fields that the body lacks; both must agree.
std::optional<ApiError> CheckPlace(const RequestContext& context, Json& object) {
  const ResourceInfo& resource = *context.resource;
  Json& metadata = object["metadata"];
  const std::string name = TextAt(metadata, {"name"});
  if (name.empty()) {
    metadata["name"] = context.name;
  } else if (name != context.name) {
    return BadRequest("the name of the object (" + name + ") does not match the name on the URL (" +
                      context.name + ")");
  }
  const std::string namespace_name = TextAt(metadata, {"namespace"});
  if (resource.namespaced && namespace_name.empty()) {
    metadata["namespace"] = context.namespace_name;
  } else if (namespace_name != context.namespace_name) {
    return BadRequest("the namespace of the object (" + namespace_name +
                      ") does not match the namespace on the request (" + context.namespace_name +
                      ")");
  }
  return std::nullopt;
}

std::optional<ApiError> CheckUpdatedMetadata(const RequestContext& context, Json& next,
                                             const Json& current) {
  if (auto error = CheckPlace(context, next)) return error;
  const ResourceInfo& resource = *context.resource;
  Json& metadata = next["metadata"];
  const std::string current_revision = TextAt(current, {"metadata", "resourceVersion"});
  const std::string revision = TextAt(metadata, {"resourceVersion"});
  if (!revision.empty() && revision != "0" && revision != current_revision) {
    return StaleStatus(resource.id, context.name);
  }
  // A PUT with another uid has failed already: its uid is a precondition.
  if (const std::string uid = TextAt(metadata, {"uid"}); !uid.empty() && uid != UidOf(current)) {
    return InvalidStatus(resource.id.group, resource.kind, context.name,
                         {InvalidError("metadata.uid", uid, "field is immutable")});
  }
  metadata["resourceVersion"] = current_revision;
  KeepServerOwned(metadata, current.at("metadata"));
  return std::nullopt;
}

}  // namespace

ApiResult<Json> ObjectUpdater::Prepare(RequestContext& context, Json next, const Json& current,
                                       Tracking tracking) const {
  const ResourceInfo& resource = *context.resource;
  if (auto error = CheckUpdatedMetadata(context, next, current)) return *error;
  if (tracking == Tracking::kUpdate) stages_.fields.Track(context, &current, next);
  const AdmissionRequest request =
      MakeAdmissionRequest(context, Operation::kUpdate, &next, &current);
  if (auto error = stages_.review.Mutate(request, next)) return *error;
  KeepServerOwned(next["metadata"], current.at("metadata"));

  const Strategy& strategy = StrategyOf(resource);
  strategy.PrepareForUpdate(resource, next, current, context.subresource, stages_.clock.Now());
  if (resource.storage == kCrdStorage && !SameAt(next, current, {"spec"})) {
    SetCrdStatus(next, stages_.store.cache(), stages_.clock.Now());
  } else if (resource.storage == kValidatingPolicies && context.subresource.empty() &&
             !SameAt(next, current, {"metadata", "generation"})) {
    FillTypeChecking(*context.table, next);
  }
  const std::vector<Cause> causes =
      strategy.ValidateUpdate(resource, next, current, context.subresource);
  if (!causes.empty()) {
    return InvalidStatus(resource.id.group, resource.kind, context.name, causes);
  }
  if (auto error = stages_.review.Validate(request, next)) return *error;
  return next;
}

ApiResult<WriteResult> ObjectUpdater::Modify(RequestContext& context, const Change& change,
                                             Tracking tracking) {
  for (int attempt = 0; attempt < kUpdateTries; ++attempt) {
    if (auto result = ModifyOnce(context, change, tracking)) return *std::move(result);
  }
  return StaleStatus(context.resource->id, context.name);
}

std::optional<ApiResult<WriteResult>> ObjectUpdater::ModifyOnce(RequestContext& context,
                                                                const Change& change,
                                                                Tracking tracking) {
  const ResourceInfo& resource = *context.resource;
  const StoredPtr stored = stages_.store.GetLatest(context.key());
  const Object stored_json = stored == nullptr ? nullptr : stored->json();
  if (stored_json == nullptr) return stages_.committer.Missing(context);
  Json converted;
  const bool is_in_version = stored->api_version() == resource.api_version();
  if (!is_in_version) {
    auto done = converter_.ConvertOne(resource, *stored_json, resource.api_version());
    if (!done) return done.error();
    converted = std::move(*done);
  }
  const Json& current = is_in_version ? *stored_json : converted;

  auto changed = change(current);
  if (!changed) return changed.error();
  auto next = Prepare(context, std::move(*changed), current, tracking);
  if (!next) return next.error();

  WriteResult result;
  if (*next == current) {
    result.object = std::make_shared<const Json>(std::move(*next));
    if (resource.api_version() == stored->api_version()) result.stored = stored;
    // The answer contains a state whose write may not be durable yet.
    if (const Status settled = stages_.committer.SettleRead(context, result); !settled) {
      return StoreRefusal(settled.error(), context);
    }
    return result;
  }
  if (context.dry_run) {
    if (auto error = stages_.committer.CheckCharges(context, *next, &current)) return *error;
    result.object = std::make_shared<const Json>(std::move(*next));
    return result;
  }
  return Commit(context, *stored, std::move(*next));
}

std::optional<ApiResult<WriteResult>> ObjectUpdater::Commit(const RequestContext& context,
                                                            const StoredObject& stored, Json next) {
  // An object whose last finalizer is removed is deleted.
  const bool vanishes = IsBeingDeleted(next) && ArrayAt(next, {"metadata", "finalizers"}).empty() &&
                        IntAt(next, {"metadata", "deletionGracePeriodSeconds"}, 0) == 0 &&
                        StrategyOf(*context.resource).MayVanish(next);
  // An object that vanishes takes nothing more of a quota.
  const Object old_object = stored.json();
  ObjectWrite write;
  write.kind = vanishes ? Write::Kind::kDelete : Write::Kind::kUpdate;
  write.object = std::move(next);
  write.expected_revision = stored.revision();
  write.old_object = old_object.get();
  auto updated = stages_.committer.Commit(context, std::move(write));
  if (!updated && updated.error().reason == "Conflict") return std::nullopt;
  return updated;
}

ApiResult<WriteResult> ObjectUpdater::Update(RequestContext& context, Body body) {
  const ResourceInfo& resource = *context.resource;
  if (context.subresource.empty() && !resource.Allows('u')) {
    return MethodNotAllowedStatus(resource.id, "update");
  }
  if (auto error = DecodeObject(context, body)) return *error;
  if (auto error = CheckPlace(context, body.object)) return *error;
  const bool exists = stages_.store.GetLatest(context.key()) != nullptr;
  const bool has_revision = !TextAt(body.object, {"metadata", "resourceVersion"}).empty();
  if (!exists && resource.create_on_update && context.subresource.empty() && !has_revision) {
    body.object["metadata"]["name"] = context.name;
    if (auto error = rights_.CheckMayCreate(context)) return *error;
    return creator_.CreateDecoded(context, std::move(body.object), Tracking::kUpdate);
  }
  if (exists && !has_revision && !resource.unconditional_update) {
    // This 422 names the plural, others the kind.
    return InvalidStatus(
        resource.id.group, resource.id.resource, context.name,
        {InvalidError("metadata.resourceVersion", 0, "must be specified for an update")});
  }
  const Change replace = [&](const Json& current) -> ApiResult<Json> {
    const std::string uid = UidOf(body.object);
    if (uid.empty() || uid == UidOf(current)) return body.object;
    return ConflictStatus(resource.id, context.name,
                          "Precondition failed: UID in precondition: " + uid +
                              ", UID in object meta: " + UidOf(current));
  };
  return Modify(context, replace, Tracking::kUpdate);
}

}  // namespace berth::local

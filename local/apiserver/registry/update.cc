// PUT, and the retry loop of every change of an existing object.
#include "local/apiserver/policies/policy_dispatch.h"
#include "local/apiserver/registry/crd.h"
#include "local/apiserver/registry/errors.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/policy_types.h"
#include "local/apiserver/registry/quota_charges.h"
#include "local/apiserver/registry/registry.h"

namespace berth::local {
namespace {

constexpr int kTries = 5;

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

}  // namespace

void Registry::Track(const RequestContext& context, const Json* live, Json& object) const {
  const ResourceInfo& resource = *context.resource;
  if (resource.type == nullptr) return;
  TrackUpdate(live, object, MakeManagerContext(context));
}

ManagerContext Registry::MakeManagerContext(const RequestContext& context) const {
  const ResourceInfo& resource = *context.resource;
  ManagerContext manager;
  manager.type = resource.type;
  manager.api_version = resource.api_version();
  manager.manager = context.manager;
  manager.subresource = context.subresource;
  manager.now = Now();
  if (context.subresource == "status") {
    manager.reset_fields = ResetAllButStatus(manager.api_version);
  } else if (resource.has_status) {
    manager.reset_fields = ResetStatus();
  }
  if (resource.crd != nullptr) {
    const ResourcePtr kept = context.resource;
    manager.convert = [this, kept](const Json& object,
                                   const std::string& api_version) -> ApiResult<Json> {
      // Managed fields may name any number of versions: no copy is made for one that is none.
      const std::size_t slash = api_version.find('/');
      const bool is_known = slash != std::string::npos &&
                            api_version.compare(0, slash, kept->id.group) == 0 &&
                            kept->crd->versions.contains(api_version.substr(slash + 1));
      if (!is_known) return BadRequest("unknown version " + api_version);
      return converter_.ConvertOne(*kept, object, api_version);
    };
  }
  return manager;
}

// The URL supplies fields that the body lacks; both must agree.
std::optional<ApiError> Registry::CheckPlace(const RequestContext& context, Json& object) {
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

std::optional<ApiError> Registry::CheckUpdatedMetadata(const RequestContext& context, Json& next,
                                                       const Json& current) const {
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

ApiResult<Json> Registry::PrepareUpdate(RequestContext& context, Json next, const Json& current,
                                        Tracking tracking) {
  const ResourceInfo& resource = *context.resource;
  if (auto error = CheckUpdatedMetadata(context, next, current)) return *error;
  if (tracking == Tracking::kUpdate) Track(context, &current, next);
  const auto accept = [&](Json& changed) { return AcceptObject(resource, changed, nullptr); };
  const AdmissionRequest request = MakeAdmission(context, Operation::kUpdate, &next, &current);
  if (auto error = admission_.Mutate(request, next, accept)) return *error;
  KeepServerOwned(next["metadata"], current.at("metadata"));

  const Strategy& strategy = StrategyOf(resource);
  strategy.PrepareForUpdate(resource, next, current, context.subresource, Now());
  if (resource.storage == "customresourcedefinitions.apiextensions.k8s.io" &&
      !SameAt(next, current, {"spec"})) {
    PrepareCrdStatus(next);
  } else if (resource.storage == kValidatingPolicies && context.subresource.empty() &&
             !SameAt(next, current, {"metadata", "generation"})) {
    FillTypeChecking(*context.table, next);
  }
  const std::vector<Cause> causes =
      strategy.ValidateUpdate(resource, next, current, context.subresource);
  if (!causes.empty()) {
    return InvalidStatus(resource.id.group, resource.kind, context.name, causes);
  }
  if (auto error = CheckEscalation(context, next, &current)) return *error;
  if (auto error = CheckStorable(next)) return *error;
  if (auto error = admission_.Validate(request, &next)) return *error;
  return next;
}

ApiResult<WriteResult> Registry::Modify(RequestContext& context, const Change& change,
                                        Tracking tracking) {
  for (int attempt = 0; attempt < kTries; ++attempt) {
    if (auto result = ModifyOnce(context, change, tracking)) return *std::move(result);
  }
  return StaleStatus(context.resource->id, context.name);
}

std::optional<ApiResult<WriteResult>> Registry::ModifyOnce(RequestContext& context,
                                                           const Change& change,
                                                           Tracking tracking) {
  const ResourceInfo& resource = *context.resource;
  const StoredPtr stored = store_.GetLatest(context.key());
  const Object stored_json = stored == nullptr ? nullptr : stored->json();
  if (stored_json == nullptr) return Missing(context);
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
  auto next = PrepareUpdate(context, std::move(*changed), current, tracking);
  if (!next) return next.error();

  WriteResult result;
  if (*next == current) {
    result.object = std::make_shared<const Json>(std::move(*next));
    if (resource.api_version() == stored->api_version()) result.stored = stored;
    // The answer contains a state whose write may not be durable yet.
    if (const Status settled = SettleRead(context, result); !settled) {
      return FromStore(settled.error(), context);
    }
    return result;
  }
  if (context.dry_run) {
    auto charges = QuotaCharges(store_, context, *next, &current);
    if (!charges) return charges.error();
    result.object = std::make_shared<const Json>(std::move(*next));
    return result;
  }
  return CommitUpdate(context, *stored, std::move(*next));
}

std::optional<ApiResult<WriteResult>> Registry::CommitUpdate(RequestContext& context,
                                                             const StoredObject& stored,
                                                             Json next) {
  const ResourceInfo& resource = *context.resource;
  // An object whose last finalizer is removed is deleted.
  const bool vanishes = IsBeingDeleted(next) && ArrayAt(next, {"metadata", "finalizers"}).empty() &&
                        IntAt(next, {"metadata", "deletionGracePeriodSeconds"}, 0) == 0 &&
                        StrategyOf(resource).MayVanish(next);
  const bool converted = !IsStorageVersion(context);
  Json answer = converted ? next : Json();
  if (auto error = ToStorageVersion(context, next)) return *error;
  std::vector<Write> writes;
  writes.push_back({vanishes ? Write::Kind::kDelete : Write::Kind::kUpdate, context.key(),
                    std::move(next), stored.revision()});
  const Object before = stored.json();
  // An object that vanishes takes nothing more.
  auto done = SubmitCharged(context, std::move(writes), before.get());
  if (!done) {
    if (done.error().reason == "Conflict") return std::nullopt;
    return done.error();
  }
  WriteResult result;
  const Status settled = vanishes ? done->pending->Wait() : Settle(context, *done, result);
  if (!settled) return FromStore(settled.error(), context);
  if (vanishes) AfterCommit(context.key(), true);
  const StoredPtr& committed = done->objects.front();
  if (!converted) {
    result.stored = committed;
    result.object = committed->json();
    return result;
  }
  answer["metadata"]["resourceVersion"] = std::to_string(committed->revision());
  result.object = std::make_shared<const Json>(std::move(answer));
  return result;
}

ApiResult<WriteResult> Registry::Update(RequestContext& context, Body body) {
  const ResourceInfo& resource = *context.resource;
  if (context.subresource.empty() && !resource.Allows('u')) {
    return MethodNotAllowedStatus(resource.id, "update");
  }
  if (auto error = CheckBody(context, body)) return *error;
  if (auto error = CheckPlace(context, body.object)) return *error;
  const bool exists = store_.GetLatest(context.key()) != nullptr;
  const bool has_revision = !TextAt(body.object, {"metadata", "resourceVersion"}).empty();
  if (!exists && resource.create_on_update && context.subresource.empty() && !has_revision) {
    body.object["metadata"]["name"] = context.name;
    if (auto error = CheckMayCreate(context)) return *error;
    return CreateTracked(context, std::move(body.object), Tracking::kUpdate);
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

#include "local/apiserver/registry/object_creator.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/rfc3339.h"
#include "local/apiserver/policies/policy_dispatch.h"
#include "local/apiserver/registry/crd.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/object_decoder.h"
#include "local/apiserver/registry/policy_types.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/registry/strategy.h"

namespace berth::local {
namespace {

constexpr std::size_t kMaxGeneratedStem = 58;
constexpr int kNameTries = 8;

using Operation = AdmissionRequest::Operation;

// The user who asks for a certificate.
void FillRequester(const UserInfo& user, Json& request) {
  Json& spec = request["spec"];
  for (const char* field : {"username", "uid", "groups", "extra"}) spec.erase(field);
  if (!user.name.empty()) spec["username"] = user.name;
  if (!user.uid.empty()) spec["uid"] = user.uid;
  if (!user.groups.empty()) spec["groups"] = user.groups;
  if (!user.extra.empty()) spec["extra"] = user.extra;
}

std::optional<ApiError> PlaceInNamespace(RequestContext& context, Json& object) {
  Json& metadata = object["metadata"];
  const std::string given = TextAt(metadata, {"namespace"});
  if (!context.resource->namespaced) {
    if (!given.empty() && context.subresource.empty()) {
      return BadRequest(
          "the namespace of the provided object does not match the namespace sent on the request");
    }
    return std::nullopt;
  }
  if (context.namespace_name.empty()) context.namespace_name = given;
  if (context.namespace_name.empty()) {
    return BadRequest("an empty namespace may not be set during creation");
  }
  if (!given.empty() && given != context.namespace_name) {
    return BadRequest(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  metadata["namespace"] = context.namespace_name;
  return std::nullopt;
}

}  // namespace

void ObjectCreator::FillSystemMetadata(RequestContext& context, Json& object) {
  Json& metadata = object["metadata"];
  metadata["uid"] = identifiers_.NewUid();
  metadata["creationTimestamp"] = FormatTime(stages_.clock.Now());
  for (const char* field : {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"}) {
    metadata.erase(field);
  }
  const std::string stem = TextAt(metadata, {"generateName"});
  if (TextAt(metadata, {"name"}).empty() && !stem.empty()) {
    metadata["name"] = stem.substr(0, kMaxGeneratedStem) + identifiers_.NameSuffix();
  }
  context.name = TextAt(metadata, {"name"});
}

ApiResult<WriteResult> ObjectCreator::Create(RequestContext& context, Body body) {
  if (!context.resource->Allows('c')) {
    if (context.resource->crd != nullptr && context.resource->crd->terminating) {
      return ApiError{405, "MethodNotAllowed",
                      "create not allowed while custom resource definition is terminating", Json()};
    }
    return MethodNotAllowedStatus(context.resource->id, "create");
  }
  if (auto error = DecodeObject(context, body)) return *error;
  return CreateDecoded(context, std::move(body.object), Tracking::kUpdate);
}

std::optional<ApiError> ObjectCreator::Prepare(RequestContext& context, Json& object) {
  const ResourceInfo& resource = *context.resource;
  const Strategy& strategy = StrategyOf(resource);
  FillSystemMetadata(context, object);
  strategy.PrepareForCreate(resource, object, stages_.clock.Now());
  if (resource.storage == kCrdStorage) {
    SetCrdStatus(object, stages_.store.cache(), stages_.clock.Now());
  } else if (resource.storage == "certificatesigningrequests.certificates.k8s.io") {
    FillRequester(context.user, object);
  } else if (resource.storage == kValidatingPolicies) {
    FillTypeChecking(*context.table, object);
  }
  std::vector<Cause> causes = strategy.Validate(resource, object);
  if (causes.empty() && resource.storage == "services") {
    causes = service_addresses_.Assign(object, stages_.store.cache());
  }
  if (causes.empty()) return std::nullopt;
  return InvalidStatus(resource.id.group, resource.kind, context.name, causes);
}

ApiResult<WriteResult> ObjectCreator::CreateDecoded(RequestContext& context, Json object,
                                                    Tracking tracking) {
  if (!TextAt(object, {"metadata", "resourceVersion"}).empty()) {
    return ApiError{500, "InternalError",
                    "resourceVersion should not be set on objects to be created", Json()};
  }
  if (auto error = PlaceInNamespace(context, object)) return *error;
  if (tracking == Tracking::kUpdate) stages_.fields.Track(context, nullptr, object);

  const AdmissionRequest request =
      MakeAdmissionRequest(context, Operation::kCreate, &object, nullptr);
  if (auto error = stages_.review.Mutate(request, object)) return *error;

  const bool generated = NameOf(object).empty();
  for (int attempt = 1;; ++attempt) {
    // NOLINTNEXTLINE(bugprone-use-after-move): a name that was given is tried once
    Json prepared = generated ? object : std::move(object);
    if (auto error = Prepare(context, prepared)) return *error;
    AdmissionRequest validation = request;
    validation.name = context.name;
    if (auto error = stages_.review.Validate(validation, prepared)) return *error;
    auto created = Commit(context, std::move(prepared));
    if (created || created.error().reason != "AlreadyExists" || !generated ||
        attempt == kNameTries) {
      return created;
    }
  }
}

ApiResult<WriteResult> ObjectCreator::Commit(RequestContext& context, Json object) {
  if (context.dry_run) {
    if (stages_.store.GetLatest(context.key()) != nullptr) {
      return AlreadyExistsStatus(context.resource->id, context.name);
    }
    if (auto error = stages_.committer.CheckCharges(context, object, nullptr)) return *error;
    WriteResult result;
    result.created = true;
    result.object = std::make_shared<const Json>(std::move(object));
    return result;
  }
  ObjectWrite write;
  write.kind = Write::Kind::kCreate;
  write.companions = namespace_objects_.CompanionsOf(context, object);
  write.object = std::move(object);
  auto created = stages_.committer.Commit(context, std::move(write));
  if (created) created->created = true;
  return created;
}

}  // namespace berth::local

// POST, and apply of missing objects.
#include "base/rfc3339.h"
#include "base/strings.h"
#include "local/apiserver/policies/policy_dispatch.h"
#include "local/apiserver/registry/crd.h"
#include "local/apiserver/registry/errors.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/policy_types.h"
#include "local/apiserver/registry/quota_charges.h"
#include "local/apiserver/registry/registry.h"

namespace berth::local {
namespace {

constexpr std::size_t kMaxGeneratedStem = 58;
constexpr int kNameTries = 8;
constexpr int kChargeTries = 64;  // tries where other creations change the quotas, too

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

}  // namespace

std::optional<ApiError> Registry::PlaceInNamespace(RequestContext& context, Json& object) const {
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

void Registry::FillSystemMetadata(RequestContext& context, Json& object) {
  Json& metadata = object["metadata"];
  metadata["uid"] = NewUid();
  metadata["creationTimestamp"] = FormatTime(Now());
  for (const char* field : {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"}) {
    metadata.erase(field);
  }
  const std::string stem = TextAt(metadata, {"generateName"});
  if (TextAt(metadata, {"name"}).empty() && !stem.empty()) {
    metadata["name"] = stem.substr(0, kMaxGeneratedStem) + NameSuffix();
  }
  context.name = TextAt(metadata, {"name"});
}

// A new namespace gets the objects that its pods need.
std::vector<Write> Registry::Companions(const RequestContext& context, const Json& object) {
  std::vector<Write> writes;
  if (context.resource->storage != "namespaces") return writes;
  const std::string namespace_name = NameOf(object);
  const auto add = [&](const char* resource, Json companion) {
    const std::string name = NameOf(companion);
    const ObjectKey key{resource, namespace_name, name};
    if (store_.GetLatest(key) != nullptr) return;
    companion["metadata"]["namespace"] = namespace_name;
    companion["metadata"]["uid"] = NewUid();
    companion["metadata"]["creationTimestamp"] = FormatTime(Now());
    writes.push_back({Write::Kind::kCreate, key, std::move(companion), 0});
  };
  add("serviceaccounts",
      {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "default"}}}});
  add("configmaps", RootCa());
  return writes;
}

Json Registry::RootCa() const {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata",
           {{"name", kRootCa},
            {"annotations",
             {{"kubernetes.io/description",
               "Contains a CA bundle that can be used to verify the kube-apiserver when using "
               "internal endpoints such as the internal service IP or kubernetes.default.svc."}}}}},
          {"data", {{"ca.crt", options_.root_ca_pem}}}};
}

// After a failed write the next change of the object tries again.
void Registry::RestoreRootCa(const std::string& namespace_name) {
  const StoredPtr home = store_.GetLatest({"namespaces", "", namespace_name});
  const Object namespace_json = home == nullptr ? nullptr : home->json();
  if (namespace_json == nullptr || IsBeingDeleted(*namespace_json)) return;
  const ObjectKey key{"configmaps", namespace_name, kRootCa};
  const StoredPtr stored = store_.GetLatest(key);
  const Object known = stored == nullptr ? nullptr : stored->json();
  Json object = RootCa();
  if (known == nullptr) {
    Json& metadata = object["metadata"];
    metadata["namespace"] = namespace_name;
    metadata["uid"] = NewUid();
    metadata["creationTimestamp"] = FormatTime(Now());
    if (!store_.Commit({{Write::Kind::kCreate, key, std::move(object), 0}})) return;
  } else if (!SameAt(*known, object, {"data"})) {
    Json restored = *known;
    restored["data"] = object["data"];
    if (!store_.Commit({{Write::Kind::kUpdate, key, std::move(restored), stored->revision()}})) {
      return;
    }
  }
}

ApiResult<WriteResult> Registry::Create(RequestContext& context, Body body) {
  if (!context.resource->Allows('c')) {
    if (context.resource->crd != nullptr && context.resource->crd->terminating) {
      return ApiError{405, "MethodNotAllowed",
                      "create not allowed while custom resource definition is terminating", Json()};
    }
    return MethodNotAllowedStatus(context.resource->id, "create");
  }
  if (auto error = CheckBody(context, body)) return *error;
  return CreateTracked(context, std::move(body.object), Tracking::kUpdate);
}

ApiResult<WriteResult> Registry::CreateTracked(RequestContext& context, Json object,
                                               Tracking tracking) {
  if (!TextAt(object, {"metadata", "resourceVersion"}).empty()) {
    return ApiError{500, "InternalError",
                    "resourceVersion should not be set on objects to be created", Json()};
  }
  if (auto error = PlaceInNamespace(context, object)) return *error;
  if (tracking == Tracking::kUpdate) Track(context, nullptr, object);

  const ResourceInfo& resource = *context.resource;
  const auto accept = [&](Json& changed) { return AcceptObject(resource, changed, nullptr); };
  const AdmissionRequest request = MakeAdmission(context, Operation::kCreate, &object, nullptr);
  if (auto error = admission_.Mutate(request, object, accept)) return *error;

  const Strategy& strategy = StrategyOf(resource);
  const bool generated = NameOf(object).empty();
  for (int attempt = 1;; ++attempt) {
    // NOLINTNEXTLINE(bugprone-use-after-move): a name that was given is tried once
    Json prepared = generated ? object : std::move(object);
    FillSystemMetadata(context, prepared);
    strategy.PrepareForCreate(resource, prepared, Now());
    if (resource.storage == "customresourcedefinitions.apiextensions.k8s.io") {
      PrepareCrdStatus(prepared);
    } else if (resource.storage == "certificatesigningrequests.certificates.k8s.io") {
      FillRequester(context.user, prepared);
    } else if (resource.storage == kValidatingPolicies) {
      FillTypeChecking(*context.table, prepared);
    }
    std::vector<Cause> causes = strategy.Validate(resource, prepared);
    if (causes.empty() && resource.storage == "services") {
      causes = service_addresses_.Assign(prepared, store_.cache());
    }
    if (!causes.empty()) {
      return InvalidStatus(resource.id.group, resource.kind, context.name, causes);
    }
    AdmissionRequest validation = request;
    validation.name = context.name;
    if (auto error = CheckEscalation(context, prepared, nullptr)) return *error;
    if (auto error = CheckStorable(prepared)) return *error;
    if (auto error = admission_.Validate(validation, &prepared)) return *error;
    auto created = CommitCreate(context, std::move(prepared));
    if (created || created.error().reason != "AlreadyExists" || !generated ||
        attempt == kNameTries) {
      return created;
    }
  }
}

void Registry::PrepareCrdStatus(Json& crd) {
  std::vector<Object> kept;
  std::vector<const Json*> others;
  for (const StoredPtr& stored :
       store_.cache().List("customresourcedefinitions.apiextensions.k8s.io", "").objects) {
    kept.push_back(stored->json());
    if (kept.back() != nullptr) others.push_back(kept.back().get());
  }
  SetCrdStatus(crd, others, Now());
}

// Quotas that change in between are counted again.
ApiResult<SubmittedWrite> Registry::SubmitCharged(const RequestContext& context,
                                                  std::vector<Write> writes,
                                                  const Json* old_object) {
  const Write& first = writes.front();
  for (int attempt = 1;; ++attempt) {
    auto charges = QuotaCharges(store_, context, first.object, old_object);
    if (!charges) return charges.error();
    if (charges->empty()) {
      auto done = store_.Submit(std::move(writes));
      if (!done) return FromStore(done.error(), context);
      return std::move(*done);
    }
    std::vector<Write> all = writes;
    for (Write& charge : *charges) all.push_back(std::move(charge));
    auto done = store_.Submit(std::move(all));
    if (done) return std::move(*done);
    bool again = done.error().code == ErrorCode::kConflict;
    if (again && old_object != nullptr) {
      const StoredPtr latest = store_.GetLatest(first.key);
      again = latest != nullptr && latest->revision() == first.expected_revision;
    }
    if (!again || attempt == kChargeTries) return FromStore(done.error(), context);
  }
}

ApiResult<WriteResult> Registry::CommitCreate(RequestContext& context, Json object) {
  WriteResult result;
  result.created = true;
  if (context.dry_run) {
    if (store_.GetLatest(context.key()) != nullptr) {
      return AlreadyExistsStatus(context.resource->id, context.name);
    }
    if (auto charges = QuotaCharges(store_, context, object); !charges) return charges.error();
    result.object = std::make_shared<const Json>(std::move(object));
    return result;
  }
  std::vector<Write> writes = Companions(context, object);
  const bool converted = !IsStorageVersion(context);
  Json answer = converted ? object : Json();
  if (auto error = ToStorageVersion(context, object)) return *error;
  writes.insert(writes.begin(), Write{Write::Kind::kCreate, context.key(), std::move(object), 0});
  auto done = SubmitCharged(context, std::move(writes), nullptr);
  if (!done) return done.error();
  const StoredPtr& committed = done->objects.front();
  if (const Status settled = Settle(context, *done, result); !settled) {
    return FromStore(settled.error(), context);
  }
  if (!converted) {
    result.stored = committed;
    result.object = committed->json();
    return result;
  }
  answer["metadata"]["resourceVersion"] = std::to_string(committed->revision());
  result.object = std::make_shared<const Json>(std::move(answer));
  return result;
}

}  // namespace berth::local

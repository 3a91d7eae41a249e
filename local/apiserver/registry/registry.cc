#include "local/apiserver/registry/registry.h"

#include <chrono>

#include "base/log/log.h"
#include "base/rfc3339.h"
#include "local/apiserver/registry/builtin_resources.h"
#include "local/apiserver/registry/crd.h"
#include "local/apiserver/registry/errors.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/uuid.h"

namespace berth::local {
namespace {

constexpr char kExtensionAuthentication[] = "extension-apiserver-authentication";
constexpr std::string_view kCrds = "customresourcedefinitions.apiextensions.k8s.io";

}  // namespace

Registry::Registry(Store& store, RegistryOptions options)
    : store_(store),
      options_(std::move(options)),
      types_(TypeTable::Builtin()),
      catalog_(BuiltinResources(types_)),
      roles_(store_.cache()),
      random_(options_.seed),
      service_addresses_(options_.service_prefix),
      converter_(options_.webhooks),
      admission_(store_, options_.webhooks, converter_, roles_, webhook_metrics_,
                 options_.mounts_tokens
                     ? std::function<std::string()>([this] { return NameSuffix(); })
                     : nullptr) {
  if (options_.sibling != nullptr) catalog_.LearnFrom(options_.sibling->catalog_);
  RefreshCatalog();
}

void Registry::RefreshCatalog() {
  const std::lock_guard lock(refresh_mutex_);
  catalog_.SetCustomKinds(store_.cache().List(kCrds, "").objects);
}

void Registry::AfterCommit(const ObjectKey& key, bool deleted) {
  if (key.resource == kCrds) {
    RefreshCatalog();
    RegisterApiServices();
    return;
  }
  if (key.resource == kClusterRoles) {
    CollectRoles();
    return;
  }
  if (IsRootCa(key)) return RestoreRootCa(key.namespace_name);
  if (!deleted) return;
  const ResourcePtr resource = table()->FindStored(key.resource);
  if (resource != nullptr && resource->crd != nullptr && resource->crd->terminating) {
    FinishCrdDeletion(resource->crd->crd_name);
  }
}

Status Registry::Settle(const RequestContext& context, const SubmittedWrite& write,
                        WriteResult& result) {
  const ObjectKey key = context.key();
  // The served kinds change with a CRD, the rights with a cluster role: a client that has the
  // answer may use them.
  const bool has_effects = key.resource == kCrds || key.resource == kClusterRoles || IsRootCa(key);
  if (context.wait_for == WaitFor::kSubmitted && !has_effects) {
    result.pending = write.pending;
    return OkStatus();
  }
  BERTH_CHECK_OK(write.pending->Wait());
  AfterCommit(key, false);
  return OkStatus();
}

Status Registry::SettleRead(const RequestContext& context, WriteResult& result) {
  if (context.wait_for == WaitFor::kDurable) return WaitForDisk(context.key());
  result.pending = store_.PendingOf(context.key());
  return OkStatus();
}

Status Registry::WaitForDisk(const ObjectKey& key) {
  const std::shared_ptr<PendingWrite> pending = store_.PendingOf(key);
  return pending == nullptr ? OkStatus() : pending->Wait();
}

ApiError Registry::Missing(const RequestContext& context) {
  const Status durable = WaitForDisk(context.key());
  if (!durable) return FromStore(durable.error(), context);
  return NotFoundStatus(context.resource->id, context.name);
}

ApiError Registry::FromStore(const Error& error, const RequestContext& context) {
  switch (error.code) {
    case ErrorCode::kNotFound: return NotFoundStatus(context.resource->id, context.name);
    case ErrorCode::kAlreadyExists: return AlreadyExistsStatus(context.resource->id, context.name);
    case ErrorCode::kConflict: return StaleStatus(context.resource->id, context.name);
    default: return UnavailableStatus("the write could not be stored: " + error.message);
  }
}

std::string Registry::NewUid() {
  const std::lock_guard lock(random_mutex_);
  return MakeUuid(random_);
}

std::string Registry::NameSuffix() {
  const std::lock_guard lock(random_mutex_);
  return random_.NameSuffix(5);
}

AdmissionRequest Registry::MakeAdmission(RequestContext& context,
                                         AdmissionRequest::Operation operation, const Json* object,
                                         const Json* old_object) const {
  AdmissionRequest request;
  request.context = &context;
  request.operation = operation;
  request.name = context.name.empty() && object != nullptr ? NameOf(*object) : context.name;
  request.old_object = old_object;
  return request;
}

// Whether ToStorageVersion returns objects unchanged.
bool Registry::IsStorageVersion(const RequestContext& context) {
  const ResourceInfo& resource = *context.resource;
  return StoredVersion(resource) == resource.api_version();
}

std::optional<ApiError> Registry::ToStorageVersion(const RequestContext& context, Json& object) {
  const ResourceInfo& resource = *context.resource;
  if (IsStorageVersion(context)) return std::nullopt;
  auto converted = converter_.ConvertOne(resource, std::move(object), StoredVersion(resource));
  if (!converted) return converted.error();
  object = std::move(*converted);
  if (resource.crd == nullptr) return std::nullopt;
  const auto version = resource.crd->versions.find(resource.crd->storage_version);
  if (version != resource.crd->versions.end() && version->second.schema != nullptr) {
    version->second.schema->Prune(object);
    version->second.schema->Default(object);
  }
  return std::nullopt;
}

void Registry::ExpireEvents() {
  constexpr std::chrono::hours kLifetime{1};
  constexpr std::size_t kMaxAtOnce = 500;
  const WallTime oldest = Now() - kLifetime;
  std::vector<Write> writes;
  for (const StoredPtr& stored : store_.cache().List("events", "").objects) {
    const Object event = stored->json();
    if (event == nullptr || writes.size() == kMaxAtOnce) continue;
    std::string seen = TextAt(*event, {"series", "lastObservedTime"});
    if (seen.empty()) seen = TextAt(*event, {"lastTimestamp"});
    if (seen.empty()) seen = TextAt(*event, {"metadata", "creationTimestamp"});
    const auto time = ParseTime(seen);
    if (time && *time < oldest) {
      writes.push_back({Write::Kind::kDelete, stored->key(), *event, stored->revision()});
    }
  }
  if (writes.empty()) return;
  // A client may be writing one of them: the next round retries.
  for (Write& write : writes) {
    if (auto done = store_.Commit({std::move(write)}); !done) continue;
  }
}

Status Registry::BootstrapExtensionAuthentication() {
  Json data{{"client-ca-file", options_.root_ca_pem}};
  if (!options_.front_proxy_ca_pem.empty()) {
    data["requestheader-client-ca-file"] = options_.front_proxy_ca_pem;
    data["requestheader-allowed-names"] = "[\"" + std::string(kFrontProxyName) + "\"]";
    data["requestheader-username-headers"] = "[\"X-Remote-User\"]";
    data["requestheader-uid-headers"] = "[\"X-Remote-Uid\"]";
    data["requestheader-group-headers"] = "[\"X-Remote-Group\"]";
    data["requestheader-extra-headers-prefix"] = "[\"X-Remote-Extra-\"]";
  }
  RequestContext context;
  context.table = table();
  context.resource = context.table->Find({"", "v1", "configmaps"});
  context.namespace_name = "kube-system";
  context.name = kExtensionAuthentication;
  const StoredPtr stored = store_.GetLatest(context.key());
  const Object known = stored == nullptr ? nullptr : stored->json();
  if (known != nullptr && known->value("data", Json()) == data) return OkStatus();
  Json object{{"metadata", {{"name", context.name}, {"namespace", context.namespace_name}}},
              {"data", std::move(data)}};
  const auto written = stored != nullptr
                           ? Patch(context, {PatchType::kMerge, {std::move(object), {}}})
                           : Create(context, {std::move(object), {}});
  if (written || written.error().reason == "AlreadyExists") return OkStatus();
  if (stored == nullptr) return Error{ErrorCode::kUnavailable, written.error().message};
  // Somebody has made it immutable: servers of extensions trust the authorities that it names.
  LogWarning("the authorities of clients and of the front proxy were not renewed",
             {{"configmap", context.name}, {"error", written.error().message}});
  return OkStatus();
}

// Namespaces are created by Create, which adds their service account.
Status Registry::Bootstrap() {
  const auto create = [&](const ResourceId& id, Json object) -> Status {
    RequestContext context;
    context.table = table();
    context.resource = context.table->Find(id);
    context.name = NameOf(object);
    if (store_.GetLatest(context.key()) != nullptr) return OkStatus();
    auto created = Create(context, {std::move(object), {}});
    if (!created && created.error().reason != "AlreadyExists") {
      return Error{ErrorCode::kUnavailable, created.error().message};
    }
    return OkStatus();
  };
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    BERTH_CHECK_OK(create({"", "v1", "namespaces"}, {{"metadata", {{"name", name}}}}));
  }
  const ResourceId priorities{"scheduling.k8s.io", "v1", "priorityclasses"};
  BERTH_CHECK_OK(create(priorities, {{"metadata", {{"name", "system-cluster-critical"}}},
                                     {"value", 2000000000},
                                     {"description",
                                      "Used for system critical pods that must run "
                                      "in the cluster, but can be moved to another "
                                      "node if necessary."}}));
  BERTH_CHECK_OK(create(priorities, {{"metadata", {{"name", "system-node-critical"}}},
                                     {"value", 2000001000},
                                     {"description",
                                      "Used for system critical pods that must not be moved "
                                      "from their current node."}}));
  BERTH_CHECK_OK(BootstrapExtensionAuthentication());
  Json metadata = {{"name", kExtensionAuthentication}, {"namespace", "kube-system"}};
  metadata["name"] = std::string(kExtensionAuthentication) + "-reader";
  metadata["labels"] = {{"kubernetes.io/bootstrapping", "rbac-defaults"}};
  metadata["annotations"] = {{"rbac.authorization.kubernetes.io/autoupdate", "true"}};
  return create({"rbac.authorization.k8s.io", "v1", "roles"},
                {{"metadata", metadata},
                 {"rules", Json::array({{{"apiGroups", {""}},
                                         {"resources", {"configmaps"}},
                                         {"resourceNames", {kExtensionAuthentication}},
                                         {"verbs", {"get", "list", "watch"}}}})}});
}

}  // namespace berth::local

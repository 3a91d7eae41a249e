#include "local/apiserver/registry/registry.h"

#include <functional>
#include <utility>

#include "local/apiserver/registry/admission.h"
#include "local/apiserver/registry/api_services.h"
#include "local/apiserver/registry/bootstrap.h"
#include "local/apiserver/registry/builtin_resources.h"
#include "local/apiserver/registry/cluster_roles.h"
#include "local/apiserver/registry/commit_effects.h"
#include "local/apiserver/registry/crd_conversion.h"
#include "local/apiserver/registry/event_expiry.h"
#include "local/apiserver/registry/field_tracker.h"
#include "local/apiserver/registry/identifiers.h"
#include "local/apiserver/registry/namespace_objects.h"
#include "local/apiserver/registry/object_creator.h"
#include "local/apiserver/registry/object_deleter.h"
#include "local/apiserver/registry/object_patcher.h"
#include "local/apiserver/registry/object_review.h"
#include "local/apiserver/registry/object_updater.h"
#include "local/apiserver/registry/pod_subresources.h"
#include "local/apiserver/registry/rights_check.h"
#include "local/apiserver/registry/scale_subresource.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/registry/token_requests.h"
#include "local/apiserver/registry/write_committer.h"
#include "local/apiserver/registry/write_stages.h"

namespace berth::local {

struct Registry::Stages {
  Stages(Store& store, const RegistryOptions& options, Catalog& catalog, RoleIndex& roles,
         WebhookMetrics& webhook_metrics)
      : clock(*options.clock),
        identifiers(options.seed),
        converter(options.webhooks),
        reader(store, converter),
        admission(store, options.webhooks, converter, roles, webhook_metrics,
                  options.mounts_tokens
                      ? std::function<std::string()>([this] { return identifiers.NameSuffix(); })
                      : nullptr),
        rights(store, roles),
        review(admission, rights),
        fields(clock, converter),
        api_services(store, catalog, clock, identifiers),
        cluster_roles(store, clock, identifiers),
        namespace_objects(store, clock, identifiers, options.root_ca_pem),
        effects(store, catalog, api_services, cluster_roles, namespace_objects,
                [this](const std::string& crd_name) { deleter.FinishCrdDeletion(crd_name); }),
        committer(store, converter, effects),
        writes{store, clock, fields, review, committer},
        creator(writes, identifiers, namespace_objects, options.service_prefix),
        updater(writes, converter, rights, creator),
        patcher(writes, rights, creator, updater),
        deleter(writes, catalog, updater),
        scale(reader, updater),
        pods(store, writes, updater, deleter),
        token_requests(store.cache(), clock, identifiers, committer, options.tokens) {}

  const Clock& clock;
  Identifiers identifiers;
  const Converter converter;
  const ObjectReader reader;
  const AdmissionChain admission;
  const RightsCheck rights;
  const ObjectReview review;
  const FieldTracker fields;
  ApiServices api_services;
  ClusterRoles cluster_roles;
  const NamespaceObjects namespace_objects;
  CommitEffects effects;
  WriteCommitter committer;
  const WriteStages writes;
  ObjectCreator creator;
  ObjectUpdater updater;
  ObjectPatcher patcher;
  ObjectDeleter deleter;
  ScaleSubresource scale;
  PodSubresources pods;
  const TokenRequests token_requests;
};

Registry::Registry(Store& store, RegistryOptions options)
    : store_(store),
      options_(std::move(options)),
      types_(TypeTable::Builtin()),
      catalog_(BuiltinResources(types_)),
      roles_(store_.cache()),
      stages_(std::make_unique<Stages>(store_, options_, catalog_, roles_, webhook_metrics_)) {
  if (options_.sibling != nullptr) catalog_.LearnFrom(options_.sibling->catalog_);
  stages_->effects.RefreshCatalog();
}

Registry::~Registry() = default;

Status Registry::Bootstrap() {
  return BootstrapCluster(*this, {options_.root_ca_pem, options_.front_proxy_ca_pem});
}

Status Registry::BootstrapRoles() { return stages_->cluster_roles.Bootstrap(); }

void Registry::BootstrapApiServices() { stages_->api_services.Start(); }

void Registry::ExpireEvents() { berth::local::ExpireEvents(store_, Now()); }

ApiResult<StoredPtr> Registry::Get(const RequestContext& context) {
  return stages_->reader.Get(context);
}

ApiResult<ListResult> Registry::List(const RequestContext& context, const ReadQuery& query) {
  return stages_->reader.List(context, query);
}

std::optional<ApiError> Registry::AdmitConnect(RequestContext& context, Json options) {
  return stages_->admission.Connect(context, std::move(options));
}

ApiResult<WriteResult> Registry::Create(RequestContext& context, Body body) {
  return stages_->creator.Create(context, std::move(body));
}

ApiResult<WriteResult> Registry::Update(RequestContext& context, Body body) {
  return stages_->updater.Update(context, std::move(body));
}

ApiResult<WriteResult> Registry::Patch(RequestContext& context, PatchRequest patch) {
  return stages_->patcher.Patch(context, std::move(patch));
}

ApiResult<DeleteResult> Registry::Delete(RequestContext& context, const DeleteOptions& options) {
  return stages_->deleter.Delete(context, options);
}

ApiResult<std::vector<Object>> Registry::DeleteCollection(RequestContext& context,
                                                          const ReadQuery& query,
                                                          const DeleteOptions& options) {
  return stages_->deleter.DeleteCollection(context, query, options);
}

ApiResult<Json> Registry::CreateSubresource(RequestContext& context, Body body) {
  const std::string& storage = context.resource->storage;
  if (storage == "serviceaccounts") return stages_->token_requests.Issue(context, body.object);
  if (storage != "pods") return UnknownPathStatus();
  if (context.subresource == "binding") return stages_->pods.Bind(context, body.object);
  if (context.subresource == "eviction") return stages_->pods.Evict(context, body.object);
  return UnknownPathStatus();
}

ApiResult<Json> Registry::GetScale(const RequestContext& context) {
  return stages_->scale.Get(context);
}

ApiResult<Json> Registry::UpdateScale(RequestContext& context, Body body) {
  return stages_->scale.Update(context, std::move(body));
}

ApiResult<Json> Registry::PatchScale(RequestContext& context, PatchRequest patch) {
  return stages_->scale.Patch(context, std::move(patch));
}

ApiResult<StoredPtr> Registry::InRequestVersion(const RequestContext& context,
                                                const StoredPtr& object) {
  return stages_->converter.ToVersion(*context.resource, object);
}

}  // namespace berth::local

// local/apiserver/registry/registry.h — the verbs of the Kubernetes API on every resource, built in
// or custom. The registry strings the stages of a request together; each stage has a header.
//
//   write: body → object_decoder.h (types, defaults) → FieldTracker (managedFields)
//               → ObjectReview::Mutate (admission.h) → Strategy: prepare, validate
//               → ObjectReview::Validate (rights, size, admission)
//               → WriteCommitter (storage version, quotas, Store) → CommitEffects → watchers
//   verbs: ObjectCreator, ObjectUpdater, ObjectPatcher, ObjectDeleter;
//          ScaleSubresource, PodSubresources, TokenRequests
//   read:  ObjectReader: WatchCache → version of the request
//
// Threads: every function may be called from any thread and may block (webhooks, the disk).
// Errors: ApiError, a Kubernetes Status.
// Source: Kubernetes API concepts; k8s.io/apiserver registry, restated.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "local/apiserver/auth/account_tokens.h"
#include "local/apiserver/auth/role_index.h"
#include "local/apiserver/registry/catalog.h"
#include "local/apiserver/registry/object_reader.h"
#include "local/apiserver/registry/read_query.h"
#include "local/apiserver/registry/request.h"
#include "local/apiserver/registry/strategy.h"
#include "local/apiserver/registry/webhook_caller.h"
#include "local/apiserver/store/store.h"
#include "local/apiserver/types/type_table.h"
#include "local/apiserver/webhooks/webhook_metrics.h"

namespace berth::local {

class Registry;

struct RegistryOptions {
  const Clock* clock = nullptr;
  std::uint64_t seed = 1;   // for uids and generated names
  std::string root_ca_pem;  // for kube-root-ca.crt
  std::string
      front_proxy_ca_pem;  // signs the certificate of requests that are passed on; empty: none is
  std::string service_prefix = "127.96";  // service_addresses.h
  const AccountTokens* tokens = nullptr;  // null: no tokens are signed
  bool mounts_tokens = false;             // new pods get a volume with their token
  WebhookCaller* webhooks = nullptr;      // null: webhooks and webhook conversion answer 500
  // A registry whose store had the same initial content: its parsed CRDs are shared. May be null;
  // needed during construction only.
  const Registry* sibling = nullptr;
};

class Registry {
 public:
  Registry(Store& store, RegistryOptions options);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // The present resources.
  std::shared_ptr<const ResourceTable> table() const { return catalog_.Current(); }
  const TypeTable& types() const { return types_; }
  Store& store() { return store_; }
  const Store& store() const { return store_; }
  WallTime Now() const { return options_.clock->Now(); }
  const AccountTokens* tokens() const { return options_.tokens; }  // null: none are signed

  // Creates the namespaces and priority classes that every cluster has; idempotent.
  Status Bootstrap();
  // Creates the default cluster roles and bindings; idempotent.
  Status BootstrapRoles();
  // From this call on, every group version that is served has an APIService.
  void BootstrapApiServices();
  RoleIndex& roles() { return roles_; }
  const WebhookMetrics& webhook_metrics() const { return webhook_metrics_; }

  // Removes events whose last occurrence is an hour ago; a few hundred per call.
  void ExpireEvents();

  ApiResult<StoredPtr> Get(const RequestContext& context);
  ApiResult<ListResult> List(const RequestContext& context, const ReadQuery& query);

  // Asks admission control about exec, attach or portforward. Returns the refusal, or nullopt.
  // `options`: PodExecOptions, … of v1; changes of it by mutating webhooks have no effect.
  std::optional<ApiError> AdmitConnect(RequestContext& context, Json options);

  ApiResult<WriteResult> Create(RequestContext& context, Body body);
  ApiResult<WriteResult> Update(RequestContext& context, Body body);
  ApiResult<WriteResult> Patch(RequestContext& context, PatchRequest patch);
  ApiResult<DeleteResult> Delete(RequestContext& context, const DeleteOptions& options);
  ApiResult<std::vector<Object>> DeleteCollection(RequestContext& context, const ReadQuery& query,
                                                  const DeleteOptions& options);

  // POST to a subresource: pods/binding, pods/eviction, serviceaccounts/token.
  ApiResult<Json> CreateSubresource(RequestContext& context, Body body);
  // The scale subresource: GET; PUT and PATCH.
  ApiResult<Json> GetScale(const RequestContext& context);
  ApiResult<Json> UpdateScale(RequestContext& context, Body body);
  ApiResult<Json> PatchScale(RequestContext& context, PatchRequest patch);

  // Converts `object` to the version of `context`; returns the same pointer if it has the version.
  ApiResult<StoredPtr> InRequestVersion(const RequestContext& context, const StoredPtr& object);

 private:
  struct Stages;

  Store& store_;
  const RegistryOptions options_;
  const TypeTable types_;
  Catalog catalog_;
  RoleIndex roles_;
  WebhookMetrics webhook_metrics_;
  std::unique_ptr<Stages> stages_;
};

}  // namespace berth::local

// local/apiserver/registry/registry.h — the verbs of the Kubernetes API on every resource, built in
// or custom.
//
//   write: body → decode, defaults → managedFields → mutating admission → prepare → validate
//               → validating admission → storage version → Store::Commit → watchers
//   read:  WatchCache → version of the request
//
// Threads: every function may be called from any thread and may block (webhooks, the disk).
// Errors: ApiError, a Kubernetes Status.
// Source: Kubernetes API concepts; k8s.io/apiserver registry, restated.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "local/apiserver/auth/account_tokens.h"
#include "local/apiserver/auth/role_index.h"
#include "local/apiserver/patch/managed_fields.h"
#include "local/apiserver/registry/admission.h"
#include "local/apiserver/registry/catalog.h"
#include "local/apiserver/registry/conversion.h"
#include "local/apiserver/registry/request.h"
#include "local/apiserver/registry/service_addresses.h"
#include "local/apiserver/registry/strategy.h"
#include "local/apiserver/schema/selector.h"
#include "local/apiserver/store/store.h"
#include "local/apiserver/types/type_table.h"

namespace berth::local {

struct ReadQuery {
  LabelSelector labels;
  FieldSelector fields;
  std::size_t limit = 0;  // 0: no limit
  std::string continue_token;
  std::string resource_version;
  std::string resource_version_match;  // "", "NotOlderThan", "Exact"
};

struct ListResult {
  std::vector<StoredPtr> items;  // in the version of the request
  std::int64_t revision = 0;
  std::string continue_token;
  std::optional<std::size_t> remaining;
};

class Registry;

// The common name of the certificate under which requests are passed on.
inline constexpr std::string_view kFrontProxyName = "front-proxy-client";

struct RegistryOptions {
  const Clock* clock = nullptr;
  std::uint64_t seed = 1;                 // for uids and generated names
  std::string root_ca_pem;                // for kube-root-ca.crt
  std::string front_proxy_ca_pem;         // signs the requests that are passed on; empty: none are
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
  // From now on, every group version that is served has an APIService.
  void BootstrapApiServices();
  RoleIndex& roles() { return roles_; }
  const WebhookMetrics& webhook_metrics() const { return webhook_metrics_; }

  // The answer to a write that the store refused.
  static ApiError FromStore(const Error& error, const RequestContext& context);

  // Removes events whose last occurrence is an hour ago; a few hundred per call.
  void ExpireEvents();

  ApiResult<StoredPtr> Get(const RequestContext& context);
  ApiResult<ListResult> List(const RequestContext& context, const ReadQuery& query);

  // Asks admission control about exec, attach, portforward: what is refused, or nullopt. `options`:
  // PodExecOptions, … of v1; what mutating webhooks change in it has no effect.
  std::optional<ApiError> AdmitConnect(RequestContext& context, Json options);

  ApiResult<WriteResult> Create(RequestContext& context, Body body);
  ApiResult<WriteResult> Update(RequestContext& context, Body body);
  struct PatchRequest {
    PatchType type = PatchType::kMerge;
    Body body;
    bool force = false;
  };
  ApiResult<WriteResult> Patch(RequestContext& context, PatchRequest patch);

  struct DeleteResult {
    Object object;      // the object with its deletion pending, or its last state
    bool gone = false;  // the object is removed
  };
  ApiResult<DeleteResult> Delete(RequestContext& context, const DeleteOptions& options);
  ApiResult<std::vector<Object>> DeleteCollection(RequestContext& context, const ReadQuery& query,
                                                  const DeleteOptions& options);

  // POST to a subresource: pods/binding, pods/eviction.
  ApiResult<Json> CreateSubresource(RequestContext& context, Body body);
  // The scale subresource: GET; PUT and PATCH.
  ApiResult<Json> GetScale(const RequestContext& context);
  ApiResult<Json> UpdateScale(RequestContext& context, Body body);
  ApiResult<Json> PatchScale(RequestContext& context, PatchRequest patch);

  // Converts `object` to the version of `context`; returns the same pointer if it has the version.
  ApiResult<StoredPtr> InRequestVersion(const RequestContext& context, const StoredPtr& object);

 private:
  using Change = std::function<ApiResult<Json>(const Json& current)>;
  // The ConfigMap that servers of extensions read at their start.
  Status BootstrapExtensionAuthentication();
  enum class Tracking { kUpdate, kDone };  // kDone: managedFields are up to date

  // read.cc
  ApiResult<ListResult> ListInVersion(const RequestContext& context, ListResult result);

  // decode.cc
  std::optional<ApiError> CheckBody(RequestContext& context, Body& body) const;
  std::optional<ApiError> AcceptObject(const ResourceInfo& resource, Json& object,
                                       std::vector<std::string>* strict_errors) const;
  std::optional<ApiError> ReportStrict(RequestContext& context,
                                       const std::vector<std::string>& strict_errors) const;

  // create.cc
  ApiResult<WriteResult> CreateTracked(RequestContext& context, Json object, Tracking tracking);
  std::optional<ApiError> PlaceInNamespace(RequestContext& context, Json& object) const;
  void FillSystemMetadata(RequestContext& context, Json& object);
  ApiResult<WriteResult> CommitCreate(RequestContext& context, Json object);
  // Adds the charges of the first write. `old_object`: its state before; null: it is new.
  ApiResult<SubmittedWrite> SubmitCharged(const RequestContext& context, std::vector<Write> writes,
                                          const Json* old_object);
  std::vector<Write> Companions(const RequestContext& context, const Json& object);
  // The ConfigMap with this server's certificate authority, which every namespace has.
  static constexpr const char* kRootCa = "kube-root-ca.crt";
  static bool IsRootCa(const ObjectKey& key) {
    return key.resource == "configmaps" && key.name == kRootCa;
  }
  Json RootCa() const;
  void RestoreRootCa(const std::string& namespace_name);
  void PrepareCrdStatus(Json& crd);

  // update.cc
  ApiResult<WriteResult> Modify(RequestContext& context, const Change& change, Tracking tracking);
  // nullopt: another client wrote in between; retry on the newer state.
  std::optional<ApiResult<WriteResult>> ModifyOnce(RequestContext& context, const Change& change,
                                                   Tracking tracking);
  std::optional<ApiResult<WriteResult>> CommitUpdate(RequestContext& context,
                                                     const StoredObject& stored, Json next);
  ManagerContext MakeManagerContext(const RequestContext& context) const;
  ApiResult<Json> PrepareUpdate(RequestContext& context, Json next, const Json& current,
                                Tracking tracking);
  static std::optional<ApiError> CheckPlace(const RequestContext& context, Json& object);
  std::optional<ApiError> CheckUpdatedMetadata(const RequestContext& context, Json& next,
                                               const Json& current) const;
  void Track(const RequestContext& context, const Json* live, Json& object) const;

  // subresources.cc
  ApiResult<Json> Evict(RequestContext& context, const Json& eviction);
  // nullopt: the budget allows it, and counts it.
  std::optional<ApiError> SpendBudget(const RequestContext& context, const Json& pod);

  // patch.cc
  ApiResult<WriteResult> Apply(RequestContext& context, Body body, bool force);
  ApiResult<WriteResult> CreateByApply(RequestContext& context, const Json& config,
                                       const ManagerContext& manager, ConflictPolicy policy);

  // delete.cc
  std::optional<ApiResult<DeleteResult>> DeleteOnce(RequestContext& context,
                                                    const DeleteOptions& options);
  void FinishCrdDeletion(const std::string& crd_name);
  void DeleteInstances(RequestContext& context, const Json& crd);

  // account_token.cc
  ApiResult<Json> RequestToken(RequestContext& context, Json request);
  std::optional<ApiError> BindToken(const RequestContext& context, const Json& reference,
                                    AccountClaims& claims);

  // access.cc
  std::optional<ApiError> CheckMayCreate(const RequestContext& context);
  // The refusal if the user writes a role or binding that grants more than the user has, or a
  // policy that reads more.
  std::optional<ApiError> CheckEscalation(const RequestContext& context, const Json& object,
                                          const Json* old_object);
  std::optional<ApiError> CheckRole(const RequestContext& context, const Json& role,
                                    const Json* old_role);
  std::optional<ApiError> CheckBinding(const RequestContext& context, const Json& binding);
  std::optional<ApiError> CheckGrants(const RequestContext& context,
                                      const std::vector<PolicyRule>& rules);
  // policy_access.cc
  std::optional<ApiError> CheckParamsAccess(const RequestContext& context, const Json& object,
                                            const Json* old_object);
  // Fills the rules of cluster roles with an aggregationRule.
  void CollectRoles();
  bool CollectOnce();

  // api_services.cc
  void RegisterApiServices();

  // Waits for `write` if the request waits; then runs AfterCommit. Fills `result`.
  Status Settle(const RequestContext& context, const SubmittedWrite& write, WriteResult& result);
  // The same where nothing is written: waits for the write that made the state which was read.
  Status SettleRead(const RequestContext& context, WriteResult& result);
  Status WaitForDisk(const ObjectKey& key);
  // 404, once that would also be true after a crash.
  ApiError Missing(const RequestContext& context);
  // Performs the effects of a change of `key`: served kinds, CRD clean-up.
  void AfterCommit(const ObjectKey& key, bool deleted);
  void RefreshCatalog();
  static bool IsStorageVersion(const RequestContext& context);
  std::optional<ApiError> ToStorageVersion(const RequestContext& context, Json& object);
  std::string NewUid();
  std::string NameSuffix();
  AdmissionRequest MakeAdmission(RequestContext& context, AdmissionRequest::Operation op,
                                 const Json* object, const Json* old_object) const;

  Store& store_;
  const RegistryOptions options_;
  const TypeTable types_;
  Catalog catalog_;
  RoleIndex roles_;
  std::mutex collect_mutex_;  // held while cluster roles collect others
  std::mutex refresh_mutex_;
  std::mutex services_mutex_;
  bool registers_services_ = false;  // guarded by services_mutex_
  std::mutex random_mutex_;
  Random random_;
  ServiceAddresses service_addresses_;
  Converter converter_;
  WebhookMetrics webhook_metrics_;
  AdmissionChain admission_;
};

// The value of a declared field label.
std::string FieldLabelValue(const StoredObject& object, std::string_view label);
bool MatchesQuery(const StoredObject& object, const LabelSelector& labels,
                  const FieldSelector& fields);

}  // namespace berth::local

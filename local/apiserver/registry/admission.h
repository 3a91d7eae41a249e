// local/apiserver/registry/admission.h — admission control, between decoding and storage: the
// built-in rules, then the configured webhooks.
//
//   Mutate: namespace life cycle → pod defaults (service account and its token, priority,
//                                  RuntimeClass, LimitRanges, tolerations), claims' default class,
//                                  protection of claims and volumes in use
//                                → MutatingAdmissionPolicies, by name → mutating webhooks, in the
//                                  order of their configurations' names → policies that are
//                                  performed again where the object has changed since
//   Validate: LimitRanges, classes of growing claims, ValidatingAdmissionPolicies, then validating
//             webhooks, the first refusal wins
//
// Threads: any thread; may block (webhooks). Source: Kubernetes admission control.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/policies/mutation_dispatch.h"
#include "local/apiserver/policies/policy_dispatch.h"
#include "local/apiserver/registry/crd_conversion.h"
#include "local/apiserver/registry/request.h"
#include "local/apiserver/registry/webhook_caller.h"
#include "local/apiserver/store/store.h"
#include "local/apiserver/webhooks/webhook_metrics.h"

namespace berth::local {

struct AdmissionRequest {
  enum class Operation { kCreate, kUpdate, kDelete, kConnect };
  Operation operation = Operation::kCreate;
  RequestContext* context = nullptr;  // collects the warnings of webhooks
  std::string name;                   // empty: a name will be generated
  const Json* old_object = nullptr;   // null on create
  Json options;                       // CreateOptions, UpdateOptions, … as JSON
  std::string object_kind;            // the kind of v1, on connect: PodExecOptions, …; else empty
};

// The request to admission control about a write. `object`: null on delete; its name is used if the
// context has none. `old_object`: null on create; it must outlive the result.
AdmissionRequest MakeAdmissionRequest(RequestContext& context,
                                      AdmissionRequest::Operation operation, const Json* object,
                                      const Json* old_object);

class AdmissionChain {
 public:
  // Normalises an object that a webhook has changed: types, defaults, pruning.
  using Accept = std::function<std::optional<ApiError>(Json& object)>;

  // `token_volumes`: makes the end of the name of a pod's volume with its token
  // (account_volume.h); null: pods get none.
  AdmissionChain(const Store& store, WebhookCaller* webhooks, const Converter& converter,
                 RoleIndex& roles, WebhookMetrics& webhook_metrics,
                 std::function<std::string()> token_volumes)
      : store_(store),
        webhooks_(webhooks),
        converter_(converter),
        roles_(roles),
        webhook_metrics_(webhook_metrics),
        token_volumes_(std::move(token_volumes)),
        policies_(store, converter, roles),
        mutations_(store, converter, roles) {}

  std::optional<ApiError> Mutate(const AdmissionRequest& request, Json& object,
                                 const Accept& accept) const;
  // `object`: null on delete.
  std::optional<ApiError> Validate(const AdmissionRequest& request, const Json* object) const;
  // Mutating and validating admission of exec, attach and portforward. `options`: PodExecOptions, …
  // of v1; changes of it by mutating webhooks have no effect.
  std::optional<ApiError> Connect(RequestContext& context, Json options) const;

 private:
  std::optional<ApiError> CheckNamespace(const AdmissionRequest& request) const;
  std::optional<ApiError> UseAccount(const AdmissionRequest& request, Json& pod) const;
  std::optional<ApiError> DefaultPod(const AdmissionRequest& request, Json& pod) const;
  std::optional<ApiError> UseRuntimeClass(const AdmissionRequest& request, Json& pod) const;
  std::optional<ApiError> CheckLimits(const AdmissionRequest& request, const Json& object) const;
  std::vector<Object> RangesOf(const std::string& namespace_name) const;
  void DefaultStorageClass(Json& claim) const;
  std::optional<ApiError> CheckGrowth(const AdmissionRequest& request, const Json& claim) const;
  std::optional<ApiError> SetPriority(const AdmissionRequest& request, Json& pod) const;

  const Store& store_;
  WebhookCaller* webhooks_;
  const Converter& converter_;
  RoleIndex& roles_;
  WebhookMetrics& webhook_metrics_;
  const std::function<std::string()> token_volumes_;
  const PolicyDispatch policies_;
  const MutationDispatch mutations_;
};

}  // namespace berth::local

// provisioning/controller/prewarm_reconciler.h — keeps the nodes of policies with `prewarm`:
// observe, decide (prewarm.h), perform. The keys are names of policies.
//
// Nodes are watched from the moment at which a policy with `prewarm`, or a Workload of one, exists.
// Nodes are given back before the Workload is deleted: while a node is kept, its Workload exists.
//
// Threads: one Executor, that of the manager.
// Errors: of the API, prefixed with the action; the work queue retries the key. Without the right
// to patch nodes the nodes come and are not kept, and an event of the policy says so.
#pragma once

#include <string>
#include <string_view>

#include "api/pod.h"
#include "api/provisioning_policy.h"
#include "api/provisioning_request.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/reconciler.h"
#include "kube/runtime/write_steps.h"
#include "provisioning/prewarm.h"

namespace berth::provisioning {

class PrewarmReconciler final : public kube::Reconciler {
 public:
  PrewarmReconciler(kube::Manager& manager, const Clock& clock, kube::EventRecorder& events);

  void Watch(kube::Controller& controller);
  std::string_view name() const override { return "prewarm"; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

 private:
  static constexpr char kPolicyIndex[] = "prewarm/policy";  // Workloads and nodes: their policy
  static constexpr char kOwnerIndex[] =
      "prewarm/owner";                                // requests: api::OwnerKey of their Workload
  static constexpr char kSetIndex[] = "prewarm/set";  // nodes: the request that brought them

  void Open();
  void AddAll();
  PrewarmSituation Observe(const std::string& policy, FlavorsByName& flavors);
  kube::Step CreateStep(const api::Workload& workload);
  kube::Step DeleteStep(const api::ObjectKey& workload);
  kube::Step IdleStep(const PrewarmIdle& idle, const std::string& policy);
  kube::Step NodeStep(const std::string& node, const std::string& policy, bool keep);
  void Tell(const std::string& policy, const std::string& message);

  kube::Manager& manager_;
  const Clock& clock_;
  kube::EventRecorder& events_;
  kube::Informer<api::ProvisioningPolicy>& policies_;
  kube::Informer<api::ProvisioningRequest>& requests_;
  kube::Informer<api::Workload>& workloads_;
  kube::Informer<api::ResourceFlavor>& flavors_;
  kube::Informer<api::Node>* nodes_ = nullptr;  // null: nothing is prewarmed
  kube::Controller* controller_ = nullptr;      // null: before Watch
};

}  // namespace berth::provisioning

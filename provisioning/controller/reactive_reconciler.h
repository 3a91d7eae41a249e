// provisioning/controller/reactive_reconciler.h — reconciles Workloads with a check of the
// controller berth.dev/reactive-capacity: observe, decide (reactive.h), perform.
//
// Pods, and the NodePools and NodeClaims of Karpenter, are watched from the moment at which an
// AdmissionCheck of this controller exists. Karpenter's kinds may be missing in the cluster.
//
// Threads: one Executor, that of the manager.
// Errors: of the API, prefixed with the action; the work queue retries the key.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "api/karpenter.h"
#include "api/provisioning_policy.h"
#include "api/workload.h"
#include "base/clock.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/reconciler.h"
#include "provisioning/controller/checked_workloads.h"
#include "provisioning/controller/placeholder_steps.h"
#include "provisioning/controller/stock_keeper.h"
#include "provisioning/controller/told_events.h"
#include "provisioning/reactive.h"

namespace berth::provisioning {

class ReactiveReconciler final : public kube::Reconciler {
 public:
  ReactiveReconciler(kube::Manager& manager, const Clock& clock, kube::EventRecorder& events,
                     StockKeeperOptions stock);

  void Watch(kube::Controller& controller);
  std::string_view name() const override { return "reactive-capacity"; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

 private:
  static constexpr char kWorkloadIndex[] = "reactive/workload";
  static constexpr char kPlaceholderIndex[] = "reactive/placeholder";

  void Open(kube::Controller& controller);
  void AddAll(kube::Controller& controller, const std::set<api::ObjectKey>& keys);
  bool IsSynced() const;
  // The pod whose Events should be read before the decision; null: none.
  const api::Pod* UntoldPod(const ReactiveSituation& situation) const;
  ReactiveSituation Observe(const api::Workload& workload);
  std::vector<api::AdmissionCheckState> OurChecks(const api::Workload& workload) const;
  void Decided(const WorkloadPtr& workload, const Decision& decision, Done done);

  kube::Manager& manager_;
  const Clock& clock_;
  kube::Informer<api::Workload>& workloads_;
  kube::Informer<api::AdmissionCheck>& checks_;
  kube::Informer<api::ProvisioningPolicy>& policies_;
  kube::Informer<api::ResourceFlavor>& flavors_;
  kube::Informer<api::Job>* jobs_;
  // Null until an AdmissionCheck of this controller exists.
  kube::Informer<api::Pod>* pods_ = nullptr;
  kube::Informer<api::KarpenterNodePool>* pools_ = nullptr;
  kube::Informer<api::KarpenterNodeClaim>* claims_ = nullptr;
  CheckWriter check_writer_;
  PlaceholderSteps placeholders_;
  StockKeeper stock_;
  ToldEvents told_;
  FlavorsByName flavor_table_;
  bool flavors_stale_ = true;
  std::set<api::ObjectKey> ours_;     // the Workloads with a check of this controller
  std::set<api::ObjectKey> waiting_;  // those of them whose pods wait for nodes
};

// Writes the condition Active of the AdmissionChecks of this controller: False where the policy
// that a check names is missing.
class ReactiveCheckReconciler final : public kube::Reconciler {
 public:
  ReactiveCheckReconciler(kube::Manager& manager, const Clock& clock);

  void Watch(kube::Controller& controller);
  std::string_view name() const override { return "reactive-admission-check"; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

 private:
  kube::Manager& manager_;
  const Clock& clock_;
  kube::Informer<api::AdmissionCheck>& checks_;
  kube::Informer<api::ProvisioningPolicy>& policies_;
};

}  // namespace berth::provisioning

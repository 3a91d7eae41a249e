// provisioning/controller/reactive_reconciler.h — reconciles Workloads with a check of the
// controller berth.dev/reactive-capacity: observe, decide (reactive.h), perform.
//
// Pods, and the NodePools and NodeClaims of Karpenter, are watched from the moment at which an
// AdmissionCheck of this controller exists. Karpenter's kinds may be missing in the cluster.
//
// Threads: one Executor, that of the manager.
// Errors: of the API, prefixed with the action; the work queue retries the key.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/karpenter.h"
#include "api/provisioning_policy.h"
#include "api/workload.h"
#include "base/clock.h"
#include "checks/controller/checked_workloads.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/reconciler.h"
#include "provisioning/controller/budget_waiters.h"
#include "provisioning/controller/placeholder_steps.h"
#include "provisioning/controller/spend_keeper.h"
#include "provisioning/controller/stock_keeper.h"
#include "provisioning/controller/told_events.h"
#include "provisioning/flow.h"
#include "provisioning/reactive.h"
#include "provisioning/run_history.h"

namespace berth::provisioning {

class ReactiveReconciler final : public kube::Reconciler {
 public:
  // `taken_back` is called with the LocalQueue whose charge was taken back.
  ReactiveReconciler(kube::Manager& manager, const Clock& clock, kube::EventRecorder& events,
                     StockKeeperOptions stock, SpendKeeper& spend,
                     std::function<void(const std::string&)> taken_back);

  void Watch(kube::Controller& controller);
  std::string_view name() const override { return "reactive-capacity"; }
  void Reconcile(const api::ObjectKey& key, Done done) override;
  // Reconciles the Workloads of the LocalQueue that wait for the budget of the day.
  void WakeForBudget(const std::string& queue);
  // Sets the runs of earlier jobs, for policies that ask for them.
  void UseHistory(const RunHistory* runs) { runs_ = runs; }

 private:
  static constexpr char kWorkloadIndex[] = "reactive/workload";
  static constexpr char kPlaceholderIndex[] = "reactive/placeholder";

  void Open(kube::Controller& controller);
  void AddAll(kube::Controller& controller, const std::set<api::ObjectKey>& keys);
  bool IsSynced() const;
  // The pod whose Events should be read before the decision; null: none.
  const api::Pod* UntoldPod(const ReactiveSituation& situation) const;
  ReactiveSituation Observe(const api::Workload& workload);
  void ObservePods(const api::Workload& workload, ReactiveSituation& situation);
  // Reads and writes the memories that decide about the Workload. Returns whether all memories are
  // there; else the key is reconciled again when they are, or `done` gets the error.
  bool HasMemories(const api::ObjectKey& key, const ReactiveSituation& situation, const Done& done);
  void Record(const std::vector<Charge>& charges);
  void Forget(const checks::WorkloadPtr& workload, kube::Controller& controller);
  void TakeBackOf(const api::ObjectKey& gone, Done done);
  std::vector<api::AdmissionCheckState> OurChecks(const api::Workload& workload) const;
  void Decided(const checks::WorkloadPtr& workload, const Decision& decision, Done done);

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
  checks::CheckWriter check_writer_;
  PlaceholderSteps placeholders_;
  StockKeeper stock_;
  SpendKeeper& spend_;
  const RunHistory* runs_ = nullptr;  // null: no earlier run is known
  const std::function<void(const std::string&)> taken_back_;
  kube::Controller* controller_ = nullptr;  // null: before Watch
  ToldEvents told_;
  FlavorsByName flavor_table_;
  bool flavors_stale_ = true;
  std::set<api::ObjectKey> ours_;     // the Workloads with a check of this controller
  std::set<api::ObjectKey> waiting_;  // Workloads among `ours_` that wait for nodes
  BudgetWaiters waiting_for_budget_;
  std::map<api::ObjectKey, std::vector<Charge>> gone_;  // to settle: their Workloads are gone
};

}  // namespace berth::provisioning

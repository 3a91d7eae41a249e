// provisioning/controller/request_reconciler.h — reconciles Workloads that wait for capacity:
// observe, decide (decide.h), perform.
//
// The check's new state is written first, on the Workload's resourceVersion, so that an eviction
// under way is never overwritten; then templates and requests, one after the other.
//
// Threads: one Executor, that of the manager.
// Errors: of the API, prefixed with the action; the work queue retries the key. A request that the
// API refuses is reported in the check's message and in an event.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/job.h"
#include "api/provisioning_policy.h"
#include "api/provisioning_request.h"
#include "api/workload.h"
#include "base/clock.h"
#include "checks/controller/checked_workloads.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/reconciler.h"
#include "kube/runtime/write_steps.h"
#include "provisioning/controller/budget_waiters.h"
#include "provisioning/controller/lease_steps.h"
#include "provisioning/controller/node_view.h"
#include "provisioning/controller/spend_keeper.h"
#include "provisioning/controller/stock_keeper.h"
#include "provisioning/controller/template_steps.h"
#include "provisioning/decide.h"
#include "provisioning/run_history.h"

namespace berth::provisioning {

class RequestReconciler final : public kube::Reconciler {
 public:
  RequestReconciler(kube::Manager& manager, const Clock& clock, kube::EventRecorder& events,
                    DecideOptions options, StockKeeperOptions stock);

  void Watch(kube::Controller& controller);
  std::string_view name() const override { return "provisioning"; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

  SpendKeeper& spend() { return spend_; }
  // Reconciles the Workloads of the LocalQueue that wait for the budget of the day.
  void WakeForBudget(const std::string& queue);
  // Sets the runs of earlier jobs, for policies that ask for them.
  void UseHistory(const RunHistory* runs) { runs_ = runs; }
  void OnLeases(std::function<void(std::size_t)> tell) { nodes_.OnLeases(std::move(tell)); }
  // Sets the function that is called with each LocalQueue of WakeForBudget, because another
  // reconciler shares the budget.
  void ShareBudget(std::function<void(const std::string&)> wake) { wake_others_ = std::move(wake); }

 private:
  struct Created {  // a request that the informer does not show yet
    api::ProvisioningRequest request;
    SteadyTime at;  // when the API last confirmed that the request exists
  };

  static constexpr char kOwnerIndex[] = "owner";
  static constexpr char kCheckIndex[] = "check";

  void WatchSettings(kube::Controller& controller);
  void OpenNodes(const api::ProvisioningPolicy& policy);
  // Whether the Workload waits for the first list of nodes and pods.
  bool AwaitsNodes(const Situation& situation) const;
  // Reads and writes the memories that decide about the Workload. Returns whether all memories are
  // there; else the key is reconciled again when they are, or `done` gets the error.
  bool HasMemories(const api::ObjectKey& key, const Situation& situation, const Done& done);
  void ObserveNodes(const api::Workload& workload, Situation& situation) const;
  void ReleaseLeasesOf(const api::ObjectKey& gone, Done done);
  Situation Observe(const api::Workload& workload);
  static std::vector<std::string> RememberedClasses(const Situation& situation);
  void ObserveRequests(const api::Workload& workload, Situation& situation);
  void ObserveTemplates(const api::Workload& workload, Situation& situation) const;
  // The highest attempt of the check seen by this process, created or tried (answers may be lost).
  std::int32_t LastAttempt(const api::Workload& workload, const std::string& check,
                           const std::vector<api::ProvisioningRequest>& requests);
  void RefreshFlavors();
  void SeedFlow();
  void CountOpen(const Situation& situation);
  void FollowFlow(const api::Workload& workload, const Situation& situation,
                  const Decision& decision);
  void RecordCharge(const Charge& charge);
  void WakeFlow();
  void Forget(const api::ProvisioningRequest& request);
  const Created* LongUnheard(const std::string& workload_uid) const;
  void ReadBack(const checks::WorkloadPtr& workload, const api::ObjectKey& request, Done done);

  std::vector<kube::Step> StepsFor(const checks::WorkloadPtr& workload, const Decision& decision);
  kube::Step ChecksStep(const checks::WorkloadPtr& workload,
                        std::vector<api::AdmissionCheckState> changed);
  kube::Step ActionStep(const checks::WorkloadPtr& workload, const Action& action);
  kube::Step DeleteRequestStep(const std::string& space, const DeleteRequest& action);
  kube::Step CreateRequestStep(const checks::WorkloadPtr& workload, const CreateRequest& action);
  void ReadExisting(const checks::WorkloadPtr& workload, const CreateRequest& action,
                    std::function<void(Status)> next);
  void NoteAttempt(const api::Workload& workload, const CreateRequest& action,
                   const kube::Json* stored);
  void NoteCreated(const api::Workload& workload, const kube::Json& answer);
  void TellRefusal(const checks::WorkloadPtr& workload, const CreateRequest& action,
                   const Error& error, std::function<void(Status)> next);
  std::vector<api::AdmissionCheckState> OurChecks(const api::Workload& workload) const;

  kube::Manager& manager_;
  const Clock& clock_;
  kube::EventRecorder& events_;
  DecideOptions options_;
  kube::Informer<api::Workload>& workloads_;
  kube::Informer<api::AdmissionCheck>& checks_;
  kube::Informer<api::ProvisioningRequestConfig>& configs_;
  kube::Informer<api::ProvisioningPolicy>& policies_;
  kube::Informer<api::ProvisioningRequest>& requests_;
  kube::Informer<api::PodTemplateObject>& templates_;
  kube::Informer<api::ResourceFlavor>& flavors_;
  kube::Informer<api::Job>* jobs_;
  TemplateSteps template_steps_;
  checks::CheckWriter check_writer_;
  SpendKeeper spend_;
  StockKeeper stock_;
  Flow flow_;
  bool flow_seeded_ = false;                // the requests that existed are counted
  kube::Controller* controller_ = nullptr;  // null: before Watch
  NodeView nodes_;
  LeaseSteps lease_steps_;
  FlavorsByName flavor_table_;
  bool flavors_stale_ = true;
  // The keys of these maps are Workload uids; the inner keys are checks.
  std::map<std::string, std::map<std::string, std::int32_t>> last_attempt_by_check_;
  std::map<std::string, std::vector<Created>> created_;
  BudgetWaiters waiting_for_budget_;
  const RunHistory* runs_ = nullptr;                     // null: no earlier run is known
  std::function<void(const std::string&)> wake_others_;  // null: no other shares the budget
};

}  // namespace berth::provisioning

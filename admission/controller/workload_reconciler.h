// admission/controller/workload_reconciler.h — observes a Workload and its queues, plans
// (admission/lifecycle), and writes the plan.
//
// Threads: one Executor.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/controller/workload_writer.h"
#include "admission/lifecycle/workload_lifecycle.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"
#include "kube/client/informer.h"
#include "kube/runtime/events.h"
#include "kube/runtime/reconciler.h"

namespace berth::admission {

// Facts of a ClusterQueue that only the scheduler has.
struct QueueLookup {
  std::function<bool(const std::string& cluster_queue)> is_active;
  // The checks that a workload with these flavors must pass; nullopt: no such queue.
  std::function<std::optional<std::vector<std::string>>(const std::string& cluster_queue,
                                                        const std::vector<std::string>& flavors)>
      required_checks;
  // The checks that a workload must pass with whatever flavors; nullopt: no such queue.
  std::function<std::optional<std::vector<std::string>>(const std::string& cluster_queue)>
      checks_before_reservation;
  // The reason why the API would refuse the workload's pods; empty: it would accept them.
  std::function<std::string(const api::Workload& workload)> pod_problem;
};

struct WorkloadReconcilerParts {
  kube::Informer<api::Workload>& workloads;
  kube::Informer<api::LocalQueue>& local_queues;
  kube::Informer<api::ClusterQueue>& cluster_queues;
  WorkloadWriter& writer;
  kube::EventRecorder& events;
  const Clock& clock;
};

struct LifecycleOptions {
  PodsReadyOptions pods_ready;
  std::optional<Duration> keep_finished;
  bool hear_late_answers = true;  // OwnRules (admission/own_rules.h)
};

class WorkloadReconciler final : public kube::Reconciler {
 public:
  // Called after each write with the plan that was written, for metrics.
  using Observer = std::function<void(const api::Workload& before, const WorkloadPlan& plan)>;

  WorkloadReconciler(WorkloadReconcilerParts parts, QueueLookup lookup, LifecycleOptions options,
                     Observer observer);

  std::string_view name() const override { return "workload"; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

 private:
  // A plan that the API server may have carried out: its answer was lost.
  struct Unanswered {
    std::shared_ptr<const api::Workload> workload;
    WorkloadPlan plan;
  };

  struct Observed {
    WorkloadSituation situation;
    std::optional<Duration> look_again;  // when the situation changes by time alone
  };
  Observed Observe(const api::Workload& workload) const;
  // nullopt: unknown to the scheduler.
  std::optional<std::vector<std::string>> ChecksWhileWaiting(const api::Workload& workload,
                                                             const api::ClusterQueue& queue) const;
  void Tell(const api::Workload& workload, const WorkloadPlan& plan);
  // Tells of the plan whose answer was lost, where the Workload shows that it was carried out.
  void TellIfWritten(const api::Workload& fresh);

  WorkloadReconcilerParts parts_;
  QueueLookup lookup_;
  LifecycleOptions options_;
  Observer observer_;
  std::map<api::ObjectKey, Unanswered> unanswered_;
};

// The flavors that an admission uses, each once, sorted.
std::vector<std::string> FlavorsOf(const api::Admission& admission);

}  // namespace berth::admission

// admission/controller/admission_metrics.h — Kueue's metrics of admission, by Kueue's names.
//
// Threads: as kube::Metrics. Source: Kueue pkg/metrics.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "admission/controller/queue_metrics.h"
#include "admission/controller/workload_tally.h"
#include "admission/decision.h"
#include "admission/lifecycle/workload_lifecycle.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"
#include "kube/runtime/metrics.h"

namespace berth::admission {

class AdmissionMetrics {
 public:
  // The cohorts above a ClusterQueue, up to the root.
  using CohortsOf = std::function<std::vector<std::string>(const std::string& cluster_queue)>;

  // `queues` says which LocalQueues have metrics of their own, and outlives this object.
  AdmissionMetrics(kube::Metrics& metrics, const QueueMetrics& queues, CohortsOf cohorts_of);

  void OnCycle(bool progress, Duration span);
  // What heads of one cycle took from each other. `name_of` names a ClusterQueue.
  void OnDecisions(const DecisionList& decisions,
                   const std::function<std::string(ClusterQueueId)>& name_of);
  void OnAdmissionFailed();
  void OnQuotaReserved(const api::Workload& workload, const std::string& cluster_queue,
                       std::int64_t waited_seconds);
  void OnAdmitted(const api::Workload& workload, const std::string& cluster_queue,
                  std::int64_t waited_seconds, std::int64_t checks_seconds);
  void OnPreempted(const api::Workload& before, const std::string& preempting_queue,
                   const std::string& reason, WallTime now);
  // What a plan of the lifecycle wrote.
  void OnPlan(const api::Workload& before, const WorkloadPlan& plan, WallTime now);
  // Whatever else shows in the objects themselves; either may be null.
  void OnChange(const api::Workload* before, const api::Workload* after, WallTime now);
  // Where workloads of the LocalQueue wait; empty: it has gone.
  void SetRoute(const api::ObjectKey& local_queue, const std::string& cluster_queue);
  // Its metrics are kept from now on: what was counted before is shown.
  void ShowLocalQueue(const api::ObjectKey& local_queue);
  // The ClusterQueue has gone. What still counts its workloads does so until they go too.
  void ForgetClusterQueue(const std::string& name) { skipping_.erase(name); }

 private:
  // Workloads of one LocalQueue: without quota, by reason; finished.
  struct Route {
    std::string cluster_queue;  // empty: there is no such LocalQueue
    std::map<std::string, std::int64_t> unadmitted;
    std::int64_t finished = 0;
  };
  using Routes = std::map<api::ObjectKey, Route>;

  void CountEviction(const api::Workload& before, const std::string& cluster_queue,
                     const std::string& reason, const std::string& cause, WallTime now);
  void CountUnadmitted(const api::Workload& workload, int sign);
  void AddUnadmitted(const std::string& cluster_queue, const std::string& reason,
                     std::int64_t more);
  void ShowUnadmitted(const Routes::value_type& route, const std::string& reason);
  void CountFinished(const api::Workload& workload, int sign);
  void ForgetIfEmpty(const api::ObjectKey& local_queue);
  void OnFinished(const api::Workload& workload);
  void OnPodsReady(const api::Workload& workload);
  // The twin of a metric of the ClusterQueue, where the LocalQueue has metrics.
  void IncrementLocal(const char* name, const api::Workload& workload, kube::MetricLabels labels);
  void ObserveLocal(const char* name, const api::Workload& workload, std::int64_t seconds);

  kube::Metrics& metrics_;
  const QueueMetrics& queues_;
  CohortsOf cohorts_of_;
  Routes routes_;
  // By ClusterQueue and reason, as it is shown; none that is 0.
  std::map<std::pair<std::string, std::string>, std::int64_t> unadmitted_;
  std::map<std::string, std::int64_t> finished_;  // by ClusterQueue
  std::set<std::string> skipping_;                // ClusterQueues whose preemption_skips is not 0
};

}  // namespace berth::admission

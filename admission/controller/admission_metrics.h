// admission/controller/admission_metrics.h — Kueue's admission metrics, under Kueue's names.
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
  // Returns the cohorts above a ClusterQueue, up to the root.
  using CohortsOf = std::function<std::vector<std::string>(const std::string& cluster_queue)>;

  // `queues` decides which LocalQueues have metrics of their own, and must outlive this object.
  AdmissionMetrics(kube::Metrics& metrics, const QueueMetrics& queues, CohortsOf cohorts_of);

  void OnCycle(bool progress, Duration span);
  // Counts the decisions of one cycle. `name_of` returns the name of a ClusterQueue.
  void OnDecisions(const DecisionList& decisions,
                   const std::function<std::string(ClusterQueueId)>& name_of);
  void OnAdmissionFailed();
  void OnQuotaReserved(const api::Workload& workload, const std::string& cluster_queue,
                       std::int64_t waited_seconds);
  void OnAdmitted(const api::Workload& workload, const std::string& cluster_queue,
                  std::int64_t waited_seconds, std::int64_t checks_seconds);
  void OnPreempted(const api::Workload& before, const std::string& preempting_queue,
                   const std::string& reason, WallTime now);
  // Counts a status that a plan of the lifecycle wrote.
  void OnPlan(const api::Workload& before, const WorkloadPlan& plan, WallTime now);
  // Counts every other transition, from two states of one Workload; either may be null.
  void OnChange(const api::Workload* before, const api::Workload* after, WallTime now);
  // The ClusterQueue of the LocalQueue; empty: the LocalQueue is gone.
  void SetRoute(const api::ObjectKey& local_queue, const std::string& cluster_queue);
  // Begins the metrics of the LocalQueue, with the counts collected so far.
  void ShowLocalQueue(const api::ObjectKey& local_queue);
  // The ClusterQueue is gone. The series that count its workloads go with the last workload.
  void ForgetClusterQueue(const std::string& name) { skipping_.erase(name); }

 private:
  // The workloads of one LocalQueue: those without quota by reason, and the finished ones.
  struct Route {
    std::string cluster_queue;  // empty: no such LocalQueue
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
  // Increments the LocalQueue's form of a ClusterQueue metric, if the LocalQueue has metrics.
  void IncrementLocal(const char* name, const api::Workload& workload, kube::MetricLabels labels);
  void ObserveLocal(const char* name, const api::Workload& workload, std::int64_t seconds);

  kube::Metrics& metrics_;
  const QueueMetrics& queues_;
  CohortsOf cohorts_of_;
  Routes routes_;
  // The gauge by ClusterQueue and reason; a series that would show 0 is absent.
  std::map<std::pair<std::string, std::string>, std::int64_t> unadmitted_;
  std::map<std::string, std::int64_t> finished_;  // by ClusterQueue
  std::set<std::string> skipping_;                // ClusterQueues with a preemption_skips above 0
};

}  // namespace berth::admission

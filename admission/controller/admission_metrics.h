// admission/controller/admission_metrics.h — Kueue's metrics of admission, by Kueue's names.
//
// Threads: as kube::Metrics. Source: Kueue pkg/metrics.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "admission/controller/queue_metrics.h"
#include "admission/controller/workload_tally.h"
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

 private:
  void CountEviction(const api::Workload& before, const std::string& cluster_queue,
                     const std::string& reason, const std::string& cause, WallTime now);
  void CountUnadmitted(const api::Workload& workload, int sign);
  void AddUnadmitted(const std::string& cluster_queue, const std::string& reason,
                     std::int64_t more);
  void CountFinished(const api::Workload& workload, int sign);
  void OnFinished(const api::Workload& workload);
  void OnPodsReady(const api::Workload& workload);
  // The twin of a metric of the ClusterQueue, where the LocalQueue has metrics.
  void IncrementLocal(const char* name, const api::Workload& workload, kube::MetricLabels labels);
  void ObserveLocal(const char* name, const api::Workload& workload, std::int64_t seconds);

  kube::Metrics& metrics_;
  const QueueMetrics& queues_;
  CohortsOf cohorts_of_;
  // Without quota: by LocalQueue and reason, and by ClusterQueue and reason as it is shown.
  struct Route {
    std::string cluster_queue;
    std::map<std::string, std::int64_t> unadmitted;
  };
  std::map<api::ObjectKey, Route> routes_;
  std::map<std::pair<std::string, std::string>, std::int64_t> unadmitted_;
  std::map<std::string, std::int64_t> finished_;
};

}  // namespace berth::admission

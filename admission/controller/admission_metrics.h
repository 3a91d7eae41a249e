// admission/controller/admission_metrics.h — Kueue's metrics of admission, by Kueue's names.
//
// Threads: as kube::Metrics. Source: Kueue pkg/metrics.
#pragma once

#include <string>

#include "admission/controller/workload_tally.h"
#include "admission/lifecycle/workload_lifecycle.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"
#include "kube/runtime/metrics.h"

namespace berth::admission {

class AdmissionMetrics {
 public:
  explicit AdmissionMetrics(kube::Metrics& metrics);

  void OnCycle(bool progress, Duration span);
  void OnAdmissionFailed();
  void OnQuotaReserved(const api::Workload& workload, const std::string& cluster_queue,
                       std::int64_t waited_seconds);
  void OnAdmitted(const api::Workload& workload, const std::string& cluster_queue,
                  std::int64_t waited_seconds, std::int64_t checks_seconds);
  void OnPreempted(const api::Workload& workload, const std::string& preempting_queue,
                   const std::string& reason);
  // What a plan of the lifecycle wrote.
  void OnPlan(const api::Workload& before, const WorkloadPlan& plan, WallTime now);
  void OnFinished(const api::Workload& workload);

  void SetClusterQueue(const api::ClusterQueue& queue, const api::QueueStatus& status);
  void RemoveClusterQueue(const std::string& name);
  void SetLocalQueue(const api::LocalQueue& queue, const api::QueueStatus& status);
  void RemoveLocalQueue(const api::ObjectKey& key);

 private:
  void CountEviction(const api::Workload& workload, const std::string& cluster_queue,
                     const std::string& reason, const std::string& cause);

  kube::Metrics& metrics_;
};

}  // namespace berth::admission

#include "admission/controller/admission_metrics.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "api/reasons.h"

namespace berth::admission {
namespace {

using kube::MetricLabels;

constexpr std::array<const char*, 2> kStatuses{"active", "pending"};

// Exponential buckets, as Kueue's: from one second to about three hours.
std::vector<double> WaitBuckets() {
  std::vector<double> buckets{1};
  for (double bound = 2.5; bound <= 10240; bound *= 2) buckets.push_back(bound);
  return buckets;
}

std::string PriorityClassOf(const api::Workload& workload) {
  return workload.spec.priority_class_ref ? workload.spec.priority_class_ref->name : "";
}

MetricLabels QueueLabels(const api::Workload& workload, const std::string& cluster_queue) {
  return {{"cluster_queue", cluster_queue}, {"priority_class", PriorityClassOf(workload)}};
}

}  // namespace

AdmissionMetrics::AdmissionMetrics(kube::Metrics& metrics) : metrics_(metrics) {
  metrics_.DeclareCounter("kueue_admission_attempts_total",
                          "Attempts to admit workloads; one attempt may cover several queues");
  metrics_.DeclareHistogram("kueue_admission_attempt_duration_seconds",
                            "Latency of an admission attempt",
                            {0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5});
  for (const char* name : {"kueue_quota_reserved_workloads_total", "kueue_admitted_workloads_total",
                           "kueue_evicted_workloads_total", "kueue_preempted_workloads_total",
                           "kueue_finished_workloads_total"}) {
    metrics_.DeclareCounter(name, "Workloads, per ClusterQueue");
  }
  for (const char* name :
       {"kueue_quota_reserved_wait_time_seconds", "kueue_admission_wait_time_seconds",
        "kueue_admission_checks_wait_time_seconds", "kueue_execution_time_seconds"}) {
    metrics_.DeclareHistogram(name, "Time of workloads, per ClusterQueue", WaitBuckets());
  }
  for (const char* name :
       {"kueue_pending_workloads", "kueue_reserving_active_workloads",
        "kueue_admitted_active_workloads", "kueue_cluster_queue_status",
        "kueue_cluster_queue_weighted_share", "kueue_local_queue_pending_workloads",
        "kueue_local_queue_reserving_active_workloads",
        "kueue_local_queue_admitted_active_workloads", "kueue_local_queue_status"}) {
    metrics_.DeclareGauge(name, "State of a queue");
  }
}

void AdmissionMetrics::OnCycle(bool progress, Duration span) {
  const MetricLabels labels{{"result", progress ? "success" : "inadmissible"}};
  metrics_.Increment("kueue_admission_attempts_total", labels);
  metrics_.Observe("kueue_admission_attempt_duration_seconds", labels,
                   std::chrono::duration<double>(span).count());
}

void AdmissionMetrics::OnAdmissionFailed() {
  metrics_.Increment("kueue_admission_attempts_total", {{"result", "failed"}});
}

void AdmissionMetrics::OnQuotaReserved(const api::Workload& workload,
                                       const std::string& cluster_queue,
                                       std::int64_t waited_seconds) {
  const MetricLabels labels = QueueLabels(workload, cluster_queue);
  metrics_.Increment("kueue_quota_reserved_workloads_total", labels);
  metrics_.Observe("kueue_quota_reserved_wait_time_seconds", labels,
                   static_cast<double>(waited_seconds));
}

void AdmissionMetrics::OnAdmitted(const api::Workload& workload, const std::string& cluster_queue,
                                  std::int64_t waited_seconds, std::int64_t checks_seconds) {
  const MetricLabels labels = QueueLabels(workload, cluster_queue);
  metrics_.Increment("kueue_admitted_workloads_total", labels);
  metrics_.Observe("kueue_admission_wait_time_seconds", labels,
                   static_cast<double>(waited_seconds));
  metrics_.Observe("kueue_admission_checks_wait_time_seconds", labels,
                   static_cast<double>(checks_seconds));
}

void AdmissionMetrics::CountEviction(const api::Workload& workload,
                                     const std::string& cluster_queue, const std::string& reason,
                                     const std::string& cause) {
  metrics_.Increment("kueue_evicted_workloads_total",
                     {{"cluster_queue", cluster_queue},
                      {"reason", reason},
                      {"underlying_cause", cause},
                      {"priority_class", PriorityClassOf(workload)}});
}

void AdmissionMetrics::OnPreempted(const api::Workload& workload,
                                   const std::string& preempting_queue, const std::string& reason) {
  const std::string queue =
      workload.status.admission ? workload.status.admission->cluster_queue : "";
  CountEviction(workload, queue, "Preempted", reason);
  metrics_.Increment("kueue_preempted_workloads_total",
                     {{"preempting_cluster_queue", preempting_queue}, {"reason", reason}});
}

void AdmissionMetrics::OnPlan(const api::Workload& before, const WorkloadPlan& plan, WallTime now) {
  if (!plan.status) return;
  const std::string queue = before.status.admission ? before.status.admission->cluster_queue : "";
  const auto turned_true = [&](const char* type) {
    return api::IsTrue(plan.status->conditions, type) &&
           !api::IsTrue(before.status.conditions, type);
  };
  if (turned_true(api::kEvicted) && !queue.empty()) {
    const api::Condition* evicted = api::FindCondition(plan.status->conditions, api::kEvicted);
    CountEviction(before, queue, evicted->reason, "");
  }
  if (!turned_true(api::kAdmitted)) return;
  const api::Condition* reserved =
      api::FindCondition(before.status.conditions, api::kQuotaReserved);
  const WallTime since = reserved != nullptr ? reserved->last_transition_time : now;
  OnAdmitted(before, queue, WaitSeconds(QueuedSince(before), now), WaitSeconds(since, now));
}

void AdmissionMetrics::OnFinished(const api::Workload& workload) {
  if (!workload.status.admission) return;
  const MetricLabels labels = QueueLabels(workload, workload.status.admission->cluster_queue);
  metrics_.Increment("kueue_finished_workloads_total", labels);
  const api::Condition* admitted = api::FindCondition(workload.status.conditions, api::kAdmitted);
  const api::Condition* finished = api::FindCondition(workload.status.conditions, api::kFinished);
  if (admitted == nullptr || finished == nullptr) return;
  metrics_.Observe("kueue_execution_time_seconds", labels,
                   static_cast<double>(WaitSeconds(admitted->last_transition_time,
                                                   finished->last_transition_time)));
}

void AdmissionMetrics::SetClusterQueue(const api::ClusterQueue& queue,
                                       const api::QueueStatus& status) {
  const std::string& name = queue.meta.name;
  const bool active = api::IsTrue(status.conditions, api::kActive);
  metrics_.SetGauge("kueue_pending_workloads", {{"cluster_queue", name}, {"status", "active"}},
                    active ? status.pending_workloads : 0);
  metrics_.SetGauge("kueue_pending_workloads",
                    {{"cluster_queue", name}, {"status", "inadmissible"}},
                    active ? 0 : status.pending_workloads);
  metrics_.SetGauge("kueue_reserving_active_workloads", {{"cluster_queue", name}},
                    status.reserving_workloads);
  metrics_.SetGauge("kueue_admitted_active_workloads", {{"cluster_queue", name}},
                    status.admitted_workloads);
  for (const char* word : kStatuses) {
    metrics_.SetGauge("kueue_cluster_queue_status", {{"cluster_queue", name}, {"status", word}},
                      (std::string(word) == "active") == active ? 1 : 0);
  }
  if (status.weighted_share) {
    metrics_.SetGauge("kueue_cluster_queue_weighted_share",
                      {{"cluster_queue", name}, {"cohort", queue.spec.cohort_name}},
                      static_cast<double>(*status.weighted_share));
  }
}

void AdmissionMetrics::RemoveClusterQueue(const std::string& name) {
  metrics_.Remove({{"cluster_queue", name}});
}

void AdmissionMetrics::SetLocalQueue(const api::LocalQueue& queue, const api::QueueStatus& status) {
  const MetricLabels labels{{"name", queue.meta.name}, {"namespace", queue.meta.namespace_name}};
  metrics_.SetGauge("kueue_local_queue_pending_workloads", labels, status.pending_workloads);
  metrics_.SetGauge("kueue_local_queue_reserving_active_workloads", labels,
                    status.reserving_workloads);
  metrics_.SetGauge("kueue_local_queue_admitted_active_workloads", labels,
                    status.admitted_workloads);
  metrics_.SetGauge("kueue_local_queue_status", labels,
                    api::IsTrue(status.conditions, api::kActive) ? 1 : 0);
}

void AdmissionMetrics::RemoveLocalQueue(const api::ObjectKey& key) {
  metrics_.Remove({{"name", key.name}, {"namespace", key.namespace_name}});
}

}  // namespace berth::admission

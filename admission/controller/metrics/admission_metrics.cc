#include "admission/controller/metrics/admission_metrics.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "admission/messages.h"
#include "api/deadline.h"
#include "api/reasons.h"

namespace berth::admission {
namespace {

using kube::MetricLabels;

std::string PriorityClassOf(const api::Workload& workload) {
  return workload.spec.priority_class_ref ? workload.spec.priority_class_ref->name : "";
}

MetricLabels QueueLabels(const api::Workload& workload, const std::string& cluster_queue) {
  return {{"cluster_queue", cluster_queue}, {"priority_class", PriorityClassOf(workload)}};
}

// The eviction that `after` counts and `before` does not.
api::EvictionCount NewEviction(const api::WorkloadStatus& before,
                               const api::WorkloadStatus& after) {
  for (const api::EvictionCount& eviction : after.evictions) {
    const auto& known = before.evictions;
    if (std::find(known.begin(), known.end(), eviction) == known.end()) return eviction;
  }
  return {};
}

const char* ToWord(TargetSearch search) {
  switch (search) {
    case TargetSearch::kOnce: return "";
    case TargetSearch::kDeferredFit: return "deferred_fit";
    case TargetSearch::kNewTargets: return "new_targets";
    case TargetSearch::kSkipped: return "skipped";
  }
  return "";
}

// Whether its victims, or the quota that they free, were taken by an earlier head of the cycle.
bool LostItsVictims(const Decision& decision) {
  if (decision.outcome != Outcome::kSkipped || decision.second_pass) return false;
  return decision.remark == Remark::kOverlappingTargets ||
         (decision.remark == Remark::kNoLongerFits &&
          decision.assignment.mode == AssignmentMode::kPreempt);
}

// The rule of Berth that holds the head of a queue back; empty: none does.
std::string_view HoldingRule(const Decision& decision) {
  return GivesQuota(decision) || decision.second_pass ? "" : RuleBehind(decision);
}

}  // namespace

AdmissionMetrics::AdmissionMetrics(LabelledMetrics& metrics, const QueueMetrics& queues,
                                   CohortsOf cohorts_of)
    : metrics_(metrics), queues_(queues), cohorts_of_(std::move(cohorts_of)) {
  // The series exists from the start: increase() does not see a counter that begins at 1.
  metrics_.Increment("berth_refused_workload_writes_total", {}, 0);
}

void AdmissionMetrics::OnCycle(bool progress, Duration span) {
  const MetricLabels labels{{"result", progress ? "success" : "inadmissible"}};
  metrics_.Increment("kueue_admission_attempts_total", labels);
  metrics_.Observe("kueue_admission_attempt_duration_seconds", labels,
                   std::chrono::duration<double>(span).count());
}

void AdmissionMetrics::OnDecisions(const DecisionList& decisions,
                                   const std::function<std::string(ClusterQueueId)>& name_of) {
  for (const Decision& decision : decisions) {
    if (decision.target_search != TargetSearch::kOnce) {
      metrics_.Increment("kueue_preemption_target_recomputations_total",
                         {{"cluster_queue", name_of(decision.cluster_queue)},
                          {"result", ToWord(decision.target_search)}});
    }
    const bool lost = LostItsVictims(decision);
    const std::string_view rule = HoldingRule(decision);
    if (!lost && rule.empty() && skipping_.empty() && holding_.empty()) continue;
    const std::string queue = name_of(decision.cluster_queue);  // a cycle has one head a queue
    ShowHolding(queue, std::string(rule));
    const bool is_news = lost ? skipping_.insert(queue).second : skipping_.erase(queue) > 0;
    if (!is_news) continue;
    metrics_.SetGauge("kueue_admission_cycle_preemption_skips", {{"cluster_queue", queue}},
                      lost ? 1 : 0);
  }
}

void AdmissionMetrics::OnPlaces(const KeptPlaces& places,
                                const std::function<std::string(ClusterQueueId)>& name_of) {
  if (std::exchange(places_computed_, places.computed()) == places.computed()) return;
  std::set<std::string> now;
  for (const KeptPlaces::Standing& standing : places.standings()) {
    const std::string queue = name_of(standing.queue);
    now.insert(queue);
    metrics_.SetGauge("berth_kept_places", {{"cluster_queue", queue}}, standing.kept);
    metrics_.SetGauge("berth_reserve_after_seconds", {{"cluster_queue", queue}},
                      std::chrono::duration<double>(standing.after).count());
  }
  for (const std::string& queue : std::exchange(with_places_, now)) {
    if (now.contains(queue)) continue;
    metrics_.RemoveGauge("berth_kept_places", {{"cluster_queue", queue}});
    metrics_.RemoveGauge("berth_reserve_after_seconds", {{"cluster_queue", queue}});
  }
}

// A queue whose head no rule held back has no series.
void AdmissionMetrics::ShowHolding(const std::string& cluster_queue, const std::string& rule) {
  const auto labels = [&cluster_queue](const std::string& name) {
    return MetricLabels{{"cluster_queue", cluster_queue}, {"rule", name}};
  };
  const auto known = holding_.find(cluster_queue);
  if (known != holding_.end()) {
    if (known->second == rule) return;
    metrics_.RemoveGauge("berth_held_back_heads", labels(known->second));
    holding_.erase(known);
  }
  if (rule.empty()) return;
  holding_[cluster_queue] = rule;
  metrics_.SetGauge("berth_held_back_heads", labels(rule), 1);
}

void AdmissionMetrics::OnWriteRefused() {
  metrics_.Increment("berth_refused_workload_writes_total", {});
}

void AdmissionMetrics::OnAdmissionFailed() {
  metrics_.Increment("kueue_admission_attempts_total", {{"result", "failed"}});
}

void AdmissionMetrics::IncrementLocal(const char* name, const api::Workload& workload,
                                      MetricLabels labels) {
  const api::ObjectKey key{workload.meta.namespace_name, workload.spec.queue_name};
  if (!queues_.Exposes(key)) return;
  labels.erase("cluster_queue");
  labels["name"] = key.name;
  labels["namespace"] = key.namespace_name;
  metrics_.Increment(name, labels);
}

void AdmissionMetrics::ObserveLocal(const char* name, const api::Workload& workload,
                                    std::int64_t seconds, MetricLabels more) {
  const api::ObjectKey key{workload.meta.namespace_name, workload.spec.queue_name};
  if (!queues_.Exposes(key)) return;
  more.merge(MetricLabels{{"name", key.name},
                          {"namespace", key.namespace_name},
                          {"priority_class", PriorityClassOf(workload)}});
  metrics_.Observe(name, more, static_cast<double>(seconds));
}

void AdmissionMetrics::OnQuotaReserved(const api::Workload& workload,
                                       const std::string& cluster_queue,
                                       std::int64_t waited_seconds) {
  const MetricLabels labels = QueueLabels(workload, cluster_queue);
  metrics_.Increment("kueue_quota_reserved_workloads_total", labels);
  IncrementLocal("kueue_local_queue_quota_reserved_workloads_total", workload, labels);
  metrics_.Observe("kueue_quota_reserved_wait_time_seconds", labels,
                   static_cast<double>(waited_seconds));
  ObserveLocal("kueue_local_queue_quota_reserved_wait_time_seconds", workload, waited_seconds);
}

void AdmissionMetrics::OnAdmitted(const api::Workload& workload, const std::string& cluster_queue,
                                  std::int64_t waited_seconds, std::int64_t checks_seconds) {
  const MetricLabels labels = QueueLabels(workload, cluster_queue);
  metrics_.Increment("kueue_admitted_workloads_total", labels);
  constexpr auto kWorkload = CustomMetricLabel::Source::kWorkload;
  const MetricLabels custom =
      metrics_.Named(kWorkload, metrics_.ValuesOf(kWorkload, workload.meta));
  MetricLabels local = custom;
  local.merge(MetricLabels(labels));
  IncrementLocal("kueue_local_queue_admitted_workloads_total", workload, std::move(local));
  for (const std::string& cohort : cohorts_of_(cluster_queue)) {
    metrics_.Increment("kueue_cohort_subtree_admitted_workloads_total",
                       {{"cohort", cohort}, {"priority_class", PriorityClassOf(workload)}});
  }
  metrics_.Observe("kueue_admission_wait_time_seconds", labels,
                   static_cast<double>(waited_seconds));
  ObserveLocal("kueue_local_queue_admission_wait_time_seconds", workload, waited_seconds, custom);
  metrics_.Observe("kueue_admission_checks_wait_time_seconds", labels,
                   static_cast<double>(checks_seconds));
  ObserveLocal("kueue_local_queue_admission_checks_wait_time_seconds", workload, checks_seconds);
}

void AdmissionMetrics::CountEviction(const api::Workload& before, const std::string& cluster_queue,
                                     const std::string& reason, const std::string& cause,
                                     WallTime now) {
  const MetricLabels labels{{"cluster_queue", cluster_queue},
                            {"reason", reason},
                            {"underlying_cause", cause},
                            {"priority_class", PriorityClassOf(before)}};
  metrics_.Increment("kueue_evicted_workloads_total", labels);
  IncrementLocal("kueue_local_queue_evicted_workloads_total", before, labels);
  const auto& evictions = before.status.evictions;
  const bool again = std::any_of(evictions.begin(), evictions.end(), [&](const auto& eviction) {
    return eviction.reason == reason && eviction.underlying_cause == cause;
  });
  if (!again) metrics_.Increment("kueue_evicted_workloads_once_total", labels);
  const api::Condition* ready = api::FindCondition(before.status.conditions, api::kPodsReady);
  if (ready == nullptr || ready->status != api::ConditionStatus::kTrue) return;
  metrics_.Observe(
      "kueue_pods_ready_to_evicted_time_seconds",
      {{"cluster_queue", cluster_queue}, {"reason", reason}, {"underlying_cause", cause}},
      static_cast<double>(WaitSeconds(ready->last_transition_time, now)));
}

void AdmissionMetrics::OnPreempted(const api::Workload& before, const std::string& preempting_queue,
                                   const std::string& reason, WallTime now) {
  const std::string queue = before.status.admission ? before.status.admission->cluster_queue : "";
  CountEviction(before, queue, "Preempted", "", now);
  metrics_.Increment("kueue_preempted_workloads_total",
                     {{"preempting_cluster_queue", preempting_queue}, {"reason", reason}});
}

void AdmissionMetrics::OnSliceReplaced(const std::string& queue) {
  metrics_.Increment("kueue_replaced_workload_slices_total", {{"cluster_queue", queue}});
}

void AdmissionMetrics::OnPlan(const api::Workload& before, const WorkloadPlan& plan, WallTime now) {
  if (!plan.status) return;
  const std::string queue = before.status.admission ? before.status.admission->cluster_queue : "";
  const auto turned_true = [&](const char* type) {
    return api::IsTrue(plan.status->conditions, type) &&
           !api::IsTrue(before.status.conditions, type);
  };
  if (turned_true(api::kEvicted) && !queue.empty()) {
    const api::EvictionCount eviction = NewEviction(before.status, *plan.status);
    CountEviction(before, queue, eviction.reason, eviction.underlying_cause, now);
  }
  if (!turned_true(api::kAdmitted)) return;
  const api::Condition* reserved =
      api::FindCondition(before.status.conditions, api::kQuotaReserved);
  const WallTime since = reserved != nullptr ? reserved->last_transition_time : now;
  OnAdmitted(before, queue, WaitSeconds(QueuedSince(before), now), WaitSeconds(since, now));
}

void AdmissionMetrics::OnFinished(const api::Workload& workload) {
  // A workload may end while it waits: a preempted slice, for example. It counts in its queue.
  const auto route = routes_.find({workload.meta.namespace_name, workload.spec.queue_name});
  const std::string queue = workload.status.admission ? workload.status.admission->cluster_queue
                            : route != routes_.end()  ? route->second.cluster_queue
                                                      : "";
  if (queue.empty()) return;
  const MetricLabels labels = QueueLabels(workload, queue);
  metrics_.Increment("kueue_finished_workloads_total", labels);
  IncrementLocal("kueue_local_queue_finished_workloads_total", workload, labels);
  CountDeadline(workload, queue);
  if (!workload.status.admission) return;
  const api::Condition* admitted = api::FindCondition(workload.status.conditions, api::kAdmitted);
  const api::Condition* finished = api::FindCondition(workload.status.conditions, api::kFinished);
  if (admitted == nullptr || finished == nullptr) return;
  const std::int64_t ran =
      workload.status.accumulated_past_execution_time_seconds +
      WaitSeconds(admitted->last_transition_time, finished->last_transition_time);
  metrics_.Observe("kueue_execution_time_seconds", labels, static_cast<double>(ran));
  ObserveLocal("kueue_local_queue_execution_time_seconds", workload, ran);
}

void AdmissionMetrics::CountDeadline(const api::Workload& workload, const std::string& queue) {
  const auto deadline = api::DeadlineOf(workload.meta.annotations);
  const api::Condition* finished = api::FindCondition(workload.status.conditions, api::kFinished);
  if (!deadline || finished == nullptr) return;
  const bool in_time = finished->last_transition_time <= *deadline;
  const char* result = finished->reason != api::kSucceeded ? "failed" : in_time ? "kept" : "late";
  metrics_.Increment("berth_deadlines_total", {{"cluster_queue", queue}, {"result", result}});
}

void AdmissionMetrics::OnPodsReady(const api::Workload& workload) {
  const auto& conditions = workload.status.conditions;
  const api::Condition* admitted = api::FindCondition(conditions, api::kAdmitted);
  if (!workload.status.admission || admitted == nullptr) return;
  const api::Condition* condition = api::FindCondition(conditions, api::kPodsReady);
  if (condition->reason == "Recovered") return;  // the pods were ready before
  const WallTime ready = condition->last_transition_time;
  const MetricLabels labels = QueueLabels(workload, workload.status.admission->cluster_queue);
  const std::int64_t waited = WaitSeconds(QueuedSince(workload), ready);
  const std::int64_t since_admission = WaitSeconds(admitted->last_transition_time, ready);
  metrics_.Observe("kueue_ready_wait_time_seconds", labels, static_cast<double>(waited));
  metrics_.Observe("kueue_admitted_until_ready_wait_time_seconds", labels,
                   static_cast<double>(since_admission));
  ObserveLocal("kueue_local_queue_ready_wait_time_seconds", workload, waited);
  ObserveLocal("kueue_local_queue_admitted_until_ready_wait_time_seconds", workload,
               since_admission);
}

// Source: Kueue KEP-10852. A workload without conditions waits for its first evaluation.
std::optional<AdmissionMetrics::WhyNot> AdmissionMetrics::WhyNotAdmitted(
    const api::Workload& workload) {
  const auto& conditions = workload.status.conditions;
  if (api::IsTrue(conditions, api::kAdmitted) || api::IsTrue(conditions, api::kFinished)) {
    return std::nullopt;
  }
  const api::Condition* reserved = api::FindCondition(conditions, api::kQuotaReserved);
  if (reserved == nullptr) return WhyNot{api::kNoReservation, api::kPendingEvaluation};
  if (reserved->status != api::ConditionStatus::kTrue) {
    return WhyNot{api::kNoReservation, reserved->reason};
  }
  const api::Condition* admitted = api::FindCondition(conditions, api::kAdmitted);
  if (admitted != nullptr && admitted->reason == api::kPendingDelayedTopologyRequests) {
    return WhyNot{admitted->reason, "PendingTopology"};
  }
  return WhyNot{api::kUnsatisfiedAdmissionChecks, "ChecksNotReady"};
}

// A count of 0 removes the series.
void AdmissionMetrics::ShowUnadmitted(const std::string& cluster_queue, const WhyNot& why,
                                      std::int64_t count) {
  const MetricLabels labels{
      {"cluster_queue", cluster_queue}, {"reason", why.first}, {"underlying_cause", why.second}};
  if (count == 0) return metrics_.RemoveGauge("kueue_unadmitted_workloads", labels);
  if (!shown_.contains(cluster_queue)) return;
  metrics_.SetGauge("kueue_unadmitted_workloads", labels, static_cast<double>(count));
}

void AdmissionMetrics::AddUnadmitted(const std::string& cluster_queue, const WhyNot& why,
                                     std::int64_t more) {
  if (cluster_queue.empty() || more == 0) return;
  const auto of_queue = unadmitted_.try_emplace(cluster_queue).first;
  const auto found = of_queue->second.try_emplace(why).first;
  found->second += more;
  ShowUnadmitted(cluster_queue, why, found->second);
  if (found->second == 0) of_queue->second.erase(found);
  if (of_queue->second.empty()) unadmitted_.erase(of_queue);
}

void AdmissionMetrics::ShowUnadmittedOf(const Routes::value_type& route, const WhyNot& why) {
  const auto& [key, counts] = route;
  if (!queues_.Exposes(key)) return;
  const MetricLabels labels{{"name", key.name},
                            {"namespace", key.namespace_name},
                            {"cluster_queue", counts.cluster_queue},
                            {"reason", why.first},
                            {"underlying_cause", why.second}};
  const auto count = counts.unadmitted.find(why);
  if (count == counts.unadmitted.end() || count->second == 0) {
    return metrics_.RemoveGauge("kueue_local_queue_unadmitted_workloads", labels);
  }
  metrics_.SetGauge("kueue_local_queue_unadmitted_workloads", labels,
                    static_cast<double>(count->second));
}

void AdmissionMetrics::CountUnadmitted(const api::Workload& workload, int sign) {
  const std::optional<WhyNot> why = WhyNotAdmitted(workload);
  if (!why) return;
  const api::ObjectKey key{workload.meta.namespace_name, workload.spec.queue_name};
  const auto route = routes_.try_emplace(key).first;
  std::int64_t& count = route->second.unadmitted[*why];
  count += sign;
  AddUnadmitted(route->second.cluster_queue, *why, sign);
  ShowUnadmittedOf(*route, *why);
  if (count == 0) route->second.unadmitted.erase(*why);
  ForgetIfEmpty(key);
}

void AdmissionMetrics::SetRoute(const api::ObjectKey& local_queue,
                                const std::string& cluster_queue) {
  Route& route = routes_[local_queue];
  if (route.cluster_queue != cluster_queue) {
    for (const auto& [why, count] : route.unadmitted) {
      AddUnadmitted(route.cluster_queue, why, -count);
      AddUnadmitted(cluster_queue, why, count);
    }
    route.cluster_queue = cluster_queue;
  }
  ForgetIfEmpty(local_queue);
}

void AdmissionMetrics::ShowClusterQueue(const std::string& name) {
  if (!shown_.insert(name).second) return;
  if (const auto found = unadmitted_.find(name); found != unadmitted_.end()) {
    for (const auto& [why, count] : found->second) ShowUnadmitted(name, why, count);
  }
  if (const auto found = finished_.find(name); found != finished_.end()) {
    metrics_.SetGauge("kueue_finished_workloads", {{"cluster_queue", name}},
                      static_cast<double>(found->second));
  }
}

void AdmissionMetrics::ForgetClusterQueue(const std::string& name) {
  shown_.erase(name);
  skipping_.erase(name);
  holding_.erase(name);
  with_places_.erase(name);
  metrics_.Remove({{"cluster_queue", name}});
  metrics_.Remove({{"preempting_cluster_queue", name}});
}

void AdmissionMetrics::ForgetIfEmpty(const api::ObjectKey& local_queue) {
  const auto found = routes_.find(local_queue);
  if (found == routes_.end()) return;
  const Route& route = found->second;
  if (route.cluster_queue.empty() && route.unadmitted.empty() && route.finished == 0) {
    routes_.erase(found);
  }
}

void AdmissionMetrics::ShowLocalQueue(const api::ObjectKey& local_queue) {
  const auto route = routes_.find(local_queue);
  if (route == routes_.end() || !queues_.Exposes(local_queue)) return;
  for (const auto& [why, count] : route->second.unadmitted) ShowUnadmittedOf(*route, why);
  metrics_.SetGauge("kueue_local_queue_finished_workloads",
                    {{"name", local_queue.name}, {"namespace", local_queue.namespace_name}},
                    static_cast<double>(route->second.finished));
}

void AdmissionMetrics::CountFinished(const api::Workload& workload, int sign) {
  if (!workload.status.admission || !api::IsTrue(workload.status.conditions, api::kFinished)) {
    return;
  }
  const std::string& queue = workload.status.admission->cluster_queue;
  const auto found = finished_.try_emplace(queue).first;
  found->second += sign;
  if (shown_.contains(queue)) {
    metrics_.SetGauge("kueue_finished_workloads", {{"cluster_queue", queue}},
                      static_cast<double>(found->second));
  }
  if (found->second == 0) finished_.erase(found);
  const api::ObjectKey key{workload.meta.namespace_name, workload.spec.queue_name};
  Route& route = routes_[key];
  route.finished += sign;
  if (queues_.Exposes(key)) {
    metrics_.SetGauge("kueue_local_queue_finished_workloads",
                      {{"name", key.name}, {"namespace", key.namespace_name}},
                      static_cast<double>(route.finished));
  }
  ForgetIfEmpty(key);
}

void AdmissionMetrics::OnChange(const api::Workload* before, const api::Workload* after,
                                WallTime now) {
  if (before != nullptr) CountUnadmitted(*before, -1);
  if (after != nullptr) CountUnadmitted(*after, 1);
  if (before != nullptr) CountFinished(*before, -1);
  if (after != nullptr) CountFinished(*after, 1);
  if (before == nullptr || after == nullptr) return;
  const auto turned_true = [&](const char* type) {
    return api::IsTrue(after->status.conditions, type) &&
           !api::IsTrue(before->status.conditions, type);
  };
  if (turned_true(api::kFinished)) OnFinished(*after);
  if (turned_true(api::kPodsReady)) OnPodsReady(*after);
  const api::Condition* evicted = api::FindCondition(before->status.conditions, api::kEvicted);
  const bool released = api::IsTrue(before->status.conditions, api::kQuotaReserved) &&
                        !api::IsTrue(after->status.conditions, api::kQuotaReserved);
  if (released && before->status.admission && evicted != nullptr &&
      evicted->status == api::ConditionStatus::kTrue) {
    metrics_.Observe(
        "kueue_workload_eviction_latency_seconds",
        {{"cluster_queue", before->status.admission->cluster_queue}, {"reason", evicted->reason}},
        static_cast<double>(WaitSeconds(evicted->last_transition_time, now)));
  }
}

}  // namespace berth::admission

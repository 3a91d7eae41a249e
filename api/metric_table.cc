#include "api/metric_table.h"

#include <algorithm>
#include <array>
#include <vector>

namespace berth::api {
namespace {

using enum MetricKind;

// Seconds. Workloads wait for one second up to about three hours: Kueue's bounds.
constexpr double kWaits[] = {1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240};
constexpr double kCreations[] = {1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640, 1280};
constexpr double kCycles[] = {0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5};
// Clouds answer after a second, and after days.
constexpr double kAnswers[] = {1,    5,    15,    60,    300,   900,    1800,
                               3600, 7200, 14400, 43200, 86400, 259200, 604800};
constexpr double kIncumbents[] = {0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60};

constexpr MetricRow kCyclesAndWrites[] = {
    {"kueue_build_info", kGauge, "git_version compiler", "1, with the version"},
    {"kueue_admission_attempts_total", kCounter, "result",
     "Cycles: success, inadmissible; failed: an admission that was not written"},
    {"kueue_admission_attempt_duration_seconds", kHistogram, "result", "Time of a cycle", kCycles},
    {"kueue_admission_cycle_preemption_skips", kGauge, "cluster_queue",
     "1: the head lost its victims, or the quota that they free, to another head of the cycle"},
    {"berth_held_back_heads", kGauge, "cluster_queue rule",
     "1: a rule of Berth held the head of the last cycle back; rule: its name in the page of "
     "differences from Kueue"},
    {"kueue_preemption_target_recomputations_total", kCounter, "cluster_queue result",
     "Searches for other victims, where an earlier head took the first ones: deferred_fit, "
     "new_targets, skipped"},
    {"kueue_workload_creation_latency_seconds", kHistogram, "job_kind",
     "From the creation of a job to the creation of its Workload", kCreations},
    {"kueue_pod_scheduling_gate_removal_seconds", kHistogram, "name cluster_queue is_group",
     "From a workload's admission to the removal of a pod's gate; name: the gate of admission, of "
     "topology or of elastic jobs",
     kWaits},
    {"berth_refused_workload_writes_total", kCounter, "",
     "Writes of Workloads that the API server refused; the event WriteRefused has its words"},
    {"berth_eta_starts_total", kCounter, "by",
     "With --eta-interval: starts of workloads, by the quantile of their first forecast that held: "
     "p10, p50 (later than p10), p90, later. Good forecasts bring 10, 40, 40 and 10 of 100"},
    {"berth_ledger_records_total", kCounter, "result",
     "With --ledger: records that were written (the file changed), unchanged (the file had them) "
     "or dropped (the queue was full, the disk failed, or the file is at its limit). Dropped "
     "records lose history, never a job"},
    {"berth_ledger_queued_records", kGauge, "", "Records that wait for the ledger's file"},
    {"berth_ledger_lag_seconds", kGauge, "",
     "Age of the oldest record that waits for the ledger's file: about a second at most unless the "
     "disk is slow"},
    {"berth_ledger_bytes", kGauge, "",
     "Pages of the ledger's file in use; --ledger-maxsize bounds them"},
    {"berth_dropped_events_total", kCounter, "reason",
     "Events that were never written: budget (their object had too many), queue (too many waited, "
     "or for too long), refused (by the API server)"},
};

constexpr MetricRow kProgram[] = {
    {"controller_runtime_reconcile_total", kCounter, "controller result",
     "Reconciles: success, requeue_after, error"},
    {"controller_runtime_reconcile_errors_total", kCounter, "controller", "Reconciles that failed"},
    {"controller_runtime_reconcile_time_seconds", kHistogram, "controller", "Time of a reconcile"},
    {"controller_runtime_max_concurrent_reconciles", kGauge, "controller",
     "Reconciles that may run at once"},
    {"controller_runtime_active_workers", kGauge, "controller", "Reconciles under way"},
    {"workqueue_depth", kGauge, "controller name", "Keys that wait in the queue"},
    {"workqueue_adds_total", kCounter, "controller name", "Keys added to the queue"},
    {"workqueue_retries_total", kCounter, "controller name", "Keys that the queue gave again"},
    {"workqueue_queue_duration_seconds", kHistogram, "controller name",
     "How long a key waits for its work to begin"},
    {"workqueue_work_duration_seconds", kHistogram, "controller name",
     "How long the work on a key takes"},
    {"workqueue_unfinished_work_seconds", kGauge, "controller name",
     "Sum of the ages of the work under way"},
    {"workqueue_longest_running_processor_seconds", kGauge, "controller name",
     "Age of the oldest work under way"},
    {"rest_client_requests_total", kCounter, "code host method",
     "Answers of the API server; code <error>: none came. A watch counts once"},
    {"leader_election_master_status", kGauge, "name", "1: this replica holds the lease"},
    {"process_cpu_seconds_total", kCounter, "", "Processor time, user and system, in seconds"},
    {"process_resident_memory_bytes", kGauge, "", "Resident memory in bytes"},
    {"process_virtual_memory_bytes", kGauge, "", "Virtual memory in bytes"},
    {"process_start_time_seconds", kGauge, "", "Start of the process, in seconds since 1970"},
    {"process_open_fds", kGauge, "", "Open file descriptors"},
    {"process_max_fds", kGauge, "", "File descriptors that may be open"},
};

constexpr MetricRow kClusterQueues[] = {
    {"kueue_pending_workloads", kGauge, "cluster_queue status",
     "Workloads that wait: active (they compete for the head), inadmissible"},
    {"kueue_pending_scheduling_hashes", kGauge, "cluster_queue status",
     "Kinds of waiting workloads: active, inadmissible"},
    {"kueue_unadmitted_workloads", kGauge, "cluster_queue reason underlying_cause",
     "Workloads that are not admitted"},
    {"kueue_reserving_active_workloads", kGauge, "cluster_queue", "Workloads that hold quota"},
    {"kueue_admitted_active_workloads", kGauge, "cluster_queue",
     "Admitted workloads that are not finished"},
    {"kueue_finished_workloads", kGauge, "cluster_queue", "Finished Workloads that still exist"},
    {"kueue_quota_reserved_workloads_total", kCounter, "cluster_queue priority_class",
     "Workloads that got quota"},
    {"kueue_admitted_workloads_total", kCounter, "cluster_queue priority_class",
     "Workloads that were admitted"},
    {"kueue_finished_workloads_total", kCounter, "cluster_queue priority_class",
     "Workloads that finished"},
    {"kueue_evicted_workloads_total", kCounter,
     "cluster_queue reason underlying_cause priority_class", "Evictions"},
    {"kueue_evicted_workloads_once_total", kCounter,
     "cluster_queue reason underlying_cause priority_class",
     "Evictions, without repetitions: the first of its reason and cause for each workload"},
    {"kueue_preempted_workloads_total", kCounter, "preempting_cluster_queue reason",
     "Workloads that were preempted"},
    {"berth_deadlines_total", kCounter, "cluster_queue result",
     "Workloads with a deadline (berth.dev/deadline) that have ended: kept, late, failed"},
    {"berth_deadlines_in_danger", kGauge, "cluster_queue",
     "With --eta-interval: waiting workloads that end by their deadline in fewer than half of the "
     "futures"},
    {"berth_kept_places", kGauge, "cluster_queue",
     "Waiting workloads for which the queue keeps a place (berth.dev/reserve-after)"},
    {"berth_reserve_after_seconds", kGauge, "cluster_queue",
     "The wait after which the queue keeps a place for a workload, also where it is chosen from "
     "past waits"},
    {"kueue_replaced_workload_slices_total", kCounter, "cluster_queue",
     "Slices of elastic jobs that a larger slice replaced"},
    {"kueue_quota_reserved_wait_time_seconds", kHistogram, "cluster_queue priority_class",
     "Wait for quota", kWaits},
    {"kueue_admission_wait_time_seconds", kHistogram, "cluster_queue priority_class",
     "Wait for the admission", kWaits},
    {"kueue_admission_checks_wait_time_seconds", kHistogram, "cluster_queue priority_class",
     "From quota to the admission", kWaits},
    {"kueue_ready_wait_time_seconds", kHistogram, "cluster_queue priority_class",
     "Wait for the first time that all pods are ready", kWaits},
    {"kueue_admitted_until_ready_wait_time_seconds", kHistogram, "cluster_queue priority_class",
     "From the admission to the first time that all pods are ready", kWaits},
    {"kueue_execution_time_seconds", kHistogram, "cluster_queue priority_class",
     "From the admission to the end", kWaits},
    {"kueue_pods_ready_to_evicted_time_seconds", kHistogram,
     "cluster_queue reason underlying_cause",
     "How long the pods of evicted workloads had been ready", kWaits},
    {"kueue_workload_eviction_latency_seconds", kHistogram, "cluster_queue reason",
     "From an eviction to the release of its quota", kWaits},
    {"kueue_cluster_queue_status", kGauge, "cluster_queue status",
     "1 for the queue's status: pending, active, terminating"},
    {"kueue_cluster_queue_info", kGauge, "cluster_queue parent_cohort root_cohort",
     "1, with the queue's cohorts"},
    {"kueue_cluster_queue_weighted_share", kGauge, "cluster_queue cohort",
     "Share of borrowed quota; NaN: weight 0 and borrowing"},
    {"kueue_cluster_queue_nominal_quota", kGauge, "cluster_queue cohort flavor resource",
     "Nominal quota; cpu in cores"},
    {"kueue_cluster_queue_borrowing_limit", kGauge, "cluster_queue cohort flavor resource",
     "The most that may be borrowed; +Inf: no limit"},
    {"kueue_cluster_queue_lending_limit", kGauge, "cluster_queue cohort flavor resource",
     "The most that may be lent; +Inf: no limit"},
    {"kueue_cluster_queue_resource_reservation", kGauge, "cluster_queue cohort flavor resource",
     "Reserved quota"},
    {"kueue_cluster_queue_resource_usage", kGauge, "cluster_queue cohort flavor resource",
     "Quota of admitted workloads"},
    {"kueue_cluster_queue_resource_pending", kGauge, "cluster_queue resource",
     "Requests of waiting workloads"},
};

constexpr MetricRow kCapacity[] = {
    {"berth_capacity_requests_open", kGauge, "provisioning_class",
     "ProvisioningRequests that wait for capacity"},
    {"berth_capacity_requests_answered_total", kCounter, "provisioning_class outcome",
     "Answers: provisioned, the reason of a failure, or withdrawn (deleted while it waited)"},
    {"berth_capacity_request_wait_duration_seconds", kHistogram, "provisioning_class outcome",
     "From the request to its answer", kAnswers},
    {"berth_capacity_revoked_total", kCounter, "provisioning_class",
     "Requests whose capacity was taken back"},
    {"berth_capacity_oldest_request_timestamp_seconds", kGauge, "provisioning_class",
     "Creation of the oldest request that waits, in seconds since 1970; absent while none waits"},
    {"berth_capacity_rest_until_timestamp_seconds", kGauge, "provisioning_class flavor zone",
     "Until when steps for these machines rest, in seconds since 1970; a time in the past, or no "
     "series: they do not rest"},
    {"berth_capacity_steps_passed_over_total", kCounter, "reason",
     "Steps that a check began to pass over"},
    {"berth_capacity_leased_nodes", kGauge, "",
     "Idle nodes that are leased, where a policy reuses nodes"},
    {"berth_capacity_node_seconds_total", kCounter, "provisioning_class cluster_queue",
     "How long nodes of requests, leases and pending pods stood, where a policy has metering"},
    {"berth_capacity_cost_usd_total", kCounter, "provisioning_class cluster_queue",
     "Cost of these nodes at list prices, in USD; nodes without a price are left out"},
};

constexpr MetricRow kCohorts[] = {
    {"kueue_cohort_info", kGauge, "cohort parent_cohort root_cohort",
     "1, with the place among the cohorts"},
    {"kueue_cohort_weighted_share", kGauge, "cohort", "Share of borrowed quota"},
    {"kueue_cohort_subtree_quota", kGauge, "cohort flavor resource", "Quota in and below it"},
    {"kueue_cohort_subtree_resource_reservations", kGauge, "cohort flavor resource",
     "Reserved quota in and below it"},
    {"kueue_cohort_subtree_admitted_active_workloads", kGauge, "cohort",
     "Admitted workloads below it that are not finished"},
    {"kueue_cohort_subtree_admitted_workloads_total", kCounter, "cohort priority_class",
     "Workloads that were admitted below it"},
};

constexpr MetricRow kLocalQueues[] = {
    {"kueue_local_queue_pending_workloads", kGauge, "name namespace status",
     "Workloads that wait: active, inadmissible"},
    {"kueue_local_queue_unadmitted_workloads", kGauge,
     "name namespace cluster_queue reason underlying_cause", "Workloads that are not admitted"},
    {"kueue_local_queue_reserving_active_workloads", kGauge, "name namespace",
     "Workloads that hold quota"},
    {"kueue_local_queue_admitted_active_workloads", kGauge, "name namespace",
     "Admitted workloads that are not finished"},
    {"kueue_local_queue_finished_workloads", kGauge, "name namespace",
     "Finished Workloads that still exist"},
    {"kueue_local_queue_quota_reserved_workloads_total", kCounter, "name namespace priority_class",
     "Workloads that got quota"},
    {"kueue_local_queue_admitted_workloads_total", kCounter, "name namespace priority_class",
     "Workloads that were admitted"},
    {"kueue_local_queue_finished_workloads_total", kCounter, "name namespace priority_class",
     "Workloads that finished"},
    {"kueue_local_queue_evicted_workloads_total", kCounter,
     "name namespace reason underlying_cause priority_class", "Evictions"},
    {"kueue_local_queue_quota_reserved_wait_time_seconds", kHistogram,
     "name namespace priority_class", "Wait for quota", kWaits},
    {"kueue_local_queue_admission_wait_time_seconds", kHistogram, "name namespace priority_class",
     "Wait for the admission", kWaits},
    {"kueue_local_queue_admission_checks_wait_time_seconds", kHistogram,
     "name namespace priority_class", "From quota to the admission", kWaits},
    {"kueue_local_queue_ready_wait_time_seconds", kHistogram, "name namespace priority_class",
     "Wait for the first time that all pods are ready", kWaits},
    {"kueue_local_queue_admitted_until_ready_wait_time_seconds", kHistogram,
     "name namespace priority_class",
     "From the admission to the first time that all pods are ready", kWaits},
    {"kueue_local_queue_execution_time_seconds", kHistogram, "name namespace priority_class",
     "From the admission to the end", kWaits},
    {"kueue_local_queue_status", kGauge, "name namespace active",
     "1 for the value of the condition Active: True, False, Unknown"},
    {"kueue_local_queue_resource_reservation", kGauge, "name namespace flavor resource",
     "Reserved quota"},
    {"kueue_local_queue_resource_usage", kGauge, "name namespace flavor resource",
     "Quota of admitted workloads"},
    {"kueue_local_queue_admission_fair_sharing_usage", kGauge, "name namespace cluster_queue",
     "Past usage with the penalties of admissions, weighted: the number that orders LocalQueues"},
};

constexpr MetricRow kShadow[] = {
    {"berth_shadow_comparisons_total", kCounter, "subject result",
     "Decisions compared with the incumbent's, by subject (admission, preemption) and result "
     "(same, differs, onlyBerth, onlyIncumbent)"},
    {"berth_shadow_agreement_ratio", kGauge, "", "The part of comparisons with the same result"},
    {"berth_shadow_open_decisions", kGauge, "", "Decisions that wait for the incumbent's"},
    {"berth_shadow_overtaken_total", kCounter, "",
     "Decisions whose workload or victims ended by themselves"},
    {"berth_shadow_unjudged_total", kCounter, "",
     "Decisions of the incumbent that were not compared, since too many of Berth's were open"},
    {"berth_shadow_incumbent_delay_seconds", kHistogram, "",
     "From Berth's decision to the incumbent's, where both acted; 0: the incumbent was first",
     kIncumbents},
};

constexpr std::array kSections{MetricRows(kCyclesAndWrites), MetricRows(kProgram),
                               MetricRows(kClusterQueues),   MetricRows(kCapacity),
                               MetricRows(kCohorts),         MetricRows(kLocalQueues),
                               MetricRows(kShadow)};

std::vector<const MetricRow*> SortedRows() {
  std::vector<const MetricRow*> rows;
  for (const MetricRows& section : kSections) {
    for (const MetricRow& row : section) rows.push_back(&row);
  }
  std::sort(rows.begin(), rows.end(),
            [](const MetricRow* a, const MetricRow* b) { return a->name < b->name; });
  return rows;
}

}  // namespace

std::span<const MetricRows> MetricSections() { return kSections; }

const MetricRow* FindMetric(std::string_view name) {
  static const std::vector<const MetricRow*> rows = SortedRows();
  const auto found =
      std::lower_bound(rows.begin(), rows.end(), name,
                       [](const MetricRow* row, std::string_view key) { return row->name < key; });
  return found == rows.end() || (*found)->name != name ? nullptr : *found;
}

}  // namespace berth::api

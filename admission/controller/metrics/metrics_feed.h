// admission/controller/metrics/metrics_feed.h — shows the state of queues and cohorts in metrics.
// Figures that the reconcilers compute are shown at once; figures that cost more than the change
// itself are shown at most once a second.
//
// Threads: the manager's Executor. The parts must outlive this object.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "admission/controller/metrics/admission_metrics.h"
#include "admission/controller/metrics/labelled_metrics.h"
#include "admission/controller/metrics/pending_series.h"
#include "admission/controller/metrics/queue_metrics.h"
#include "admission/controller/queues/workload_tally.h"
#include "admission/scheduler.h"
#include "kube/runtime/manager.h"

namespace berth::admission {

class MetricsFeed {
 public:
  struct Parts {
    kube::Manager& manager;
    Scheduler& scheduler;
    const WorkloadTally& tally;
    LabelledMetrics& series;
    QueueMetrics& queues;
    AdmissionMetrics& admission;
    bool resources = false;  // metrics.enableClusterQueueResources
  };
  explicit MetricsFeed(const Parts& parts);
  MetricsFeed(const MetricsFeed&) = delete;
  MetricsFeed& operator=(const MetricsFeed&) = delete;

  // Watches objects for their custom labels. Call before other handlers of queues and cohorts are
  // added.
  void Connect();

  // The status of a queue was computed.
  void ShowClusterQueue(const api::ClusterQueue& queue, const api::QueueStatus& status);
  void ShowLocalQueue(const api::LocalQueue& queue, const api::QueueStatus& status);
  void ForgetClusterQueue(const std::string& name);
  void ForgetLocalQueue(const api::ObjectKey& key);
  // The tree of cohorts may have changed.
  void OnCohorts();
  // The scheduler may have moved workloads between active and inadmissible.
  void OnTurn() { ShowLater(); }

  // The share of a cohort as in its status; nullopt without fair sharing.
  std::optional<std::int64_t> CohortShare(const std::string& name);

 private:
  void ShowCohort(const std::string& name);
  void ShowCohorts();
  void ShowLater();
  void ShowDue();
  void ApplyCounts() { pending_.Apply(parts_.scheduler.TakePendingCounts()); }

  Parts parts_;
  kube::Informer<api::LocalQueue>& local_queues_;
  kube::Informer<api::Cohort>& cohorts_;
  PendingSeries pending_;
  std::set<std::string> shapes_due_;  // ClusterQueues
  bool cohorts_due_ = false;
  bool show_posted_ = false;
  std::shared_ptr<MetricsFeed*> self_ = std::make_shared<MetricsFeed*>(this);
};

}  // namespace berth::admission

// admission/controller/metrics/admission_metrics.h — Kueue's admission metrics, under Kueue's
// names.
//
// Threads: as kube::Metrics. Source: Kueue pkg/metrics.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "admission/controller/metrics/labelled_metrics.h"
#include "admission/controller/metrics/queue_metrics.h"
#include "admission/controller/queues/workload_tally.h"
#include "admission/decision.h"
#include "admission/lifecycle/workload_lifecycle.h"
#include "admission/policies/kept_places.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"

namespace berth::admission {

class AdmissionMetrics {
 public:
  // Returns the cohorts above a ClusterQueue, up to the root.
  using CohortsOf = std::function<std::vector<std::string>(const std::string& cluster_queue)>;

  // `queues` decides which LocalQueues have metrics of their own, and must outlive this object.
  AdmissionMetrics(LabelledMetrics& metrics, const QueueMetrics& queues, CohortsOf cohorts_of);

  void OnCycle(bool progress, Duration span);
  // Counts the decisions of one cycle. `name_of` returns the name of a ClusterQueue.
  void OnDecisions(const DecisionList& decisions,
                   const std::function<std::string(ClusterQueueId)>& name_of);
  // Shows the places that queues keep after a cycle.
  void OnPlaces(const KeptPlaces& places,
                const std::function<std::string(ClusterQueueId)>& name_of);
  void OnAdmissionFailed();
  void OnWriteRefused();  // the API server refused a write to a Workload
  void OnQuotaReserved(const api::Workload& workload, const std::string& cluster_queue,
                       std::int64_t waited_seconds);
  void OnAdmitted(const api::Workload& workload, const std::string& cluster_queue,
                  std::int64_t waited_seconds, std::int64_t checks_seconds);
  void OnPreempted(const api::Workload& before, const std::string& preempting_queue,
                   const std::string& reason, WallTime now);
  // A slice of an elastic job is replaced by one that is admitted.
  void OnSliceReplaced(const std::string& queue);
  // Counts a status that a plan of the lifecycle wrote.
  void OnPlan(const api::Workload& before, const WorkloadPlan& plan, WallTime now);
  // Counts every other transition, from two states of one Workload; either may be null.
  void OnChange(const api::Workload* before, const api::Workload* after, WallTime now);
  // The ClusterQueue of the LocalQueue; empty: the LocalQueue is gone.
  void SetRoute(const api::ObjectKey& local_queue, const std::string& cluster_queue);
  // Begins the metrics of the LocalQueue, with the counts collected so far.
  void ShowLocalQueue(const api::ObjectKey& local_queue);
  // For a new ClusterQueue: shows its counts, also those from before its creation.
  void ShowClusterQueue(const std::string& name);
  // For a deleted ClusterQueue: removes its series; its workloads stay counted.
  void ForgetClusterQueue(const std::string& name);

 private:
  // The reason of the condition Admitted of a waiting workload, and the underlying cause.
  using WhyNot = std::pair<std::string, std::string>;
  // Workloads of one LocalQueue: not admitted, by reason; finished.
  struct Route {
    std::string cluster_queue;  // empty: there is no such LocalQueue
    std::map<WhyNot, std::int64_t> unadmitted;
    std::int64_t finished = 0;
  };
  using Routes = std::map<api::ObjectKey, Route>;

  void CountEviction(const api::Workload& before, const std::string& cluster_queue,
                     const std::string& reason, const std::string& cause, WallTime now);
  void CountUnadmitted(const api::Workload& workload, int sign);
  static std::optional<WhyNot> WhyNotAdmitted(const api::Workload& workload);
  void AddUnadmitted(const std::string& cluster_queue, const WhyNot& why, std::int64_t more);
  void ShowUnadmitted(const std::string& cluster_queue, const WhyNot& why, std::int64_t count);
  void ShowUnadmittedOf(const Routes::value_type& route, const WhyNot& why);
  void CountFinished(const api::Workload& workload, int sign);
  void ForgetIfEmpty(const api::ObjectKey& local_queue);
  void OnFinished(const api::Workload& workload);
  void CountDeadline(const api::Workload& workload, const std::string& queue);
  void OnPodsReady(const api::Workload& workload);
  void ShowHolding(const std::string& cluster_queue, const std::string& rule);
  // Increments the LocalQueue's form of a ClusterQueue metric, if the LocalQueue has metrics.
  void IncrementLocal(const char* name, const api::Workload& workload, kube::MetricLabels labels);
  void ObserveLocal(const char* name, const api::Workload& workload, std::int64_t seconds,
                    kube::MetricLabels more = {});

  LabelledMetrics& metrics_;
  const QueueMetrics& queues_;
  CohortsOf cohorts_of_;
  Routes routes_;
  std::map<std::string, std::map<WhyNot, std::int64_t>> unadmitted_;  // by ClusterQueue; no 0
  std::map<std::string, std::int64_t> finished_;                      // by ClusterQueue
  std::set<std::string> shown_;                                       // ClusterQueues that exist
  std::set<std::string> skipping_;  // ClusterQueues whose preemption_skips is not 0
  std::uint64_t places_computed_ = 0;
  std::set<std::string> with_places_;           // ClusterQueues that keep places
  std::map<std::string, std::string> holding_;  // ClusterQueue -> the rule that held its last head
};

}  // namespace berth::admission

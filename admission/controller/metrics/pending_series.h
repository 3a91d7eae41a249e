// admission/controller/metrics/pending_series.h — the gauges of waiting workloads by status: of
// ClusterQueues (kueue_pending_workloads) and LocalQueues (kueue_local_queue_pending_workloads).
//
//     queue::PendingCounts::TakeChanged ─Apply─▶ sums by ClusterQueue ─▶ gauges of what changed
//
// `active`: competes for the head, or is the head; `inadmissible`: waits otherwise. Workloads of an
// inactive ClusterQueue are all inadmissible; those of a stopped LocalQueue are in no queue.
// With custom labels of Workloads there is a series for each set of values that occurs, and none
// where no workload waits.
//
// Threads: one Executor. Source: Kueue pkg/cache/queue/metrics.go.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "admission/controller/metrics/labelled_metrics.h"
#include "queue/pending_counts.h"

namespace berth::admission {

class PendingSeries {
 public:
  struct Queues {
    // The ClusterQueue of a LocalQueue; nullopt: the LocalQueue does not exist.
    std::function<std::optional<std::string>(const api::ObjectKey&)> cluster_queue_of;
    std::function<bool(const std::string& cluster_queue)> is_active;
    std::function<bool(const api::ObjectKey&)> has_metrics;  // LocalQueues
  };
  PendingSeries(LabelledMetrics& metrics, Queues queues);

  void Apply(const std::vector<queue::PendingCounts::Count>& changed);
  // Shows the gauges of an existing queue from now on.
  void ShowClusterQueue(const std::string& name);
  void ShowLocalQueue(const api::ObjectKey& key);
  // The queue is gone, with its series.
  void HideClusterQueue(const std::string& name);
  void HideLocalQueue(const api::ObjectKey& key);

 private:
  using Values = queue::PendingCounts::Values;
  struct Numbers {
    std::int64_t active = 0;
    std::int64_t inadmissible = 0;
  };
  struct Series {
    std::map<Values, Numbers> counts;  // no entry is 0
    std::set<Values> shown;
    bool exists = false;  // the queue exists: its gauges are shown
  };
  struct LocalSeries : Series {
    std::string cluster_queue;  // the ClusterQueue that counts these workloads
  };

  static void Add(Series& series, const Values& values, const Numbers& more, int sign);
  void Count(const queue::PendingCounts::Count& count, std::set<std::string>& cluster_queues);
  void Show(const char* name, const kube::MetricLabels& labels, bool is_active, Series& series);
  void Refresh(const std::string& cluster_queue);
  void Refresh(const api::ObjectKey& local_queue);
  template <typename Map, typename Key>
  static void DropIfEmpty(Map& series, const Key& key);

  LabelledMetrics& metrics_;
  const Queues queues_;
  const bool by_labels_;
  std::map<std::string, Series> cluster_queues_;
  std::map<api::ObjectKey, LocalSeries> local_queues_;
};

}  // namespace berth::admission

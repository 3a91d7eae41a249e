#include "admission/controller/metrics/pending_series.h"

#include <utility>

namespace berth::admission {
namespace {

constexpr char kOfClusterQueue[] = "kueue_pending_workloads";
constexpr char kOfLocalQueue[] = "kueue_local_queue_pending_workloads";

}  // namespace

PendingSeries::PendingSeries(LabelledMetrics& metrics, Queues queues)
    : metrics_(metrics),
      queues_(std::move(queues)),
      by_labels_(metrics.Has(CustomMetricLabel::Source::kWorkload)) {}

void PendingSeries::Add(Series& series, const Values& values, const Numbers& more, int sign) {
  Numbers& numbers = series.counts[values];
  numbers.active += sign * more.active;
  numbers.inadmissible += sign * more.inadmissible;
  if (numbers.active == 0 && numbers.inadmissible == 0) series.counts.erase(values);
}

template <typename Map, typename Key>
void PendingSeries::DropIfEmpty(Map& series, const Key& key) {
  const auto found = series.find(key);
  if (found == series.end() || found->second.exists || !found->second.counts.empty()) return;
  series.erase(found);
}

// Replaces what the LocalQueue has counted with these values, and moves all its counts where it
// leads to another ClusterQueue now.
void PendingSeries::Count(const queue::PendingCounts::Count& count,
                          std::set<std::string>& cluster_queues) {
  LocalSeries& local = local_queues_[count.local_queue];
  const std::string now = queues_.cluster_queue_of(count.local_queue).value_or("");
  const std::string before = std::exchange(local.cluster_queue, now);
  for (const auto& [values, numbers] : local.counts) {
    if (before == now && values != count.values) continue;
    Add(cluster_queues_[before], values, numbers, -1);
  }
  local.counts.erase(count.values);
  const Numbers numbers{count.active, count.inadmissible};
  Add(local, count.values, numbers, 1);
  for (const auto& [values, known] : local.counts) {
    if (before == now && values != count.values) continue;
    Add(cluster_queues_[now], values, known, 1);
  }
  cluster_queues.insert(before);
  cluster_queues.insert(now);
}

void PendingSeries::Apply(const std::vector<queue::PendingCounts::Count>& changed) {
  std::set<std::string> cluster_queues;
  std::set<api::ObjectKey> local_queues;
  for (const auto& count : changed) {
    Count(count, cluster_queues);
    local_queues.insert(count.local_queue);
  }
  for (const std::string& name : cluster_queues) Refresh(name);
  for (const api::ObjectKey& key : local_queues) Refresh(key);
}

void PendingSeries::Show(const char* name, const kube::MetricLabels& labels, bool is_active,
                         Series& series) {
  std::set<Values> shown;
  for (const auto& [values, numbers] : series.counts) shown.insert(values);
  if (!by_labels_) shown.insert(Values());
  const auto with = [&](const Values& values, const char* status) {
    kube::MetricLabels all = labels;
    all.merge(metrics_.Named(CustomMetricLabel::Source::kWorkload, values));
    all["status"] = status;
    return all;
  };
  for (const Values& values : shown) {
    const auto found = series.counts.find(values);
    Numbers numbers = found == series.counts.end() ? Numbers{} : found->second;
    if (!is_active) numbers.inadmissible += std::exchange(numbers.active, 0);
    metrics_.SetGauge(name, with(values, "active"), static_cast<double>(numbers.active));
    metrics_.SetGauge(name, with(values, "inadmissible"),
                      static_cast<double>(numbers.inadmissible));
  }
  for (const Values& gone : std::exchange(series.shown, shown)) {
    if (shown.contains(gone)) continue;
    for (const char* status : {"active", "inadmissible"}) {
      metrics_.RemoveGauge(name, with(gone, status));
    }
  }
}

void PendingSeries::Refresh(const std::string& cluster_queue) {
  const auto found = cluster_queues_.find(cluster_queue);
  if (found == cluster_queues_.end()) return;
  if (!found->second.exists) return DropIfEmpty(cluster_queues_, cluster_queue);
  Show(kOfClusterQueue, {{"cluster_queue", cluster_queue}}, queues_.is_active(cluster_queue),
       found->second);
}

void PendingSeries::Refresh(const api::ObjectKey& local_queue) {
  const auto found = local_queues_.find(local_queue);
  if (found == local_queues_.end()) return;
  LocalSeries& series = found->second;
  if (!series.exists) return DropIfEmpty(local_queues_, local_queue);
  const auto cluster_queue = queues_.cluster_queue_of(local_queue);
  Show(kOfLocalQueue, {{"name", local_queue.name}, {"namespace", local_queue.namespace_name}},
       cluster_queue && queues_.is_active(*cluster_queue), series);
}

void PendingSeries::ShowClusterQueue(const std::string& name) {
  cluster_queues_[name].exists = true;
  Refresh(name);
}

void PendingSeries::ShowLocalQueue(const api::ObjectKey& key) {
  if (!queues_.has_metrics(key)) return HideLocalQueue(key);
  local_queues_[key].exists = true;
  Refresh(key);
}

void PendingSeries::HideClusterQueue(const std::string& name) {
  const auto found = cluster_queues_.find(name);
  if (found == cluster_queues_.end()) return;
  found->second.exists = false;
  found->second.shown.clear();
  DropIfEmpty(cluster_queues_, name);
}

void PendingSeries::HideLocalQueue(const api::ObjectKey& key) {
  const auto found = local_queues_.find(key);
  if (found == local_queues_.end()) return;
  found->second.exists = false;
  found->second.shown.clear();
  DropIfEmpty(local_queues_, key);
}

}  // namespace berth::admission

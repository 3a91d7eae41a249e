// admission/controller/metrics/labelled_metrics.h — metrics whose series have the custom labels of
// the object that they belong to (metrics.customLabels).
//
//     SetObject(queue's metadata) ─▶ values
//     series {cluster_queue="a"}  ─▶ series {cluster_queue="a", custom_team="x"}
//
// The other labels of a series tell its object: `name` and `namespace` a LocalQueue,
// `cluster_queue` or `preempting_cluster_queue` a ClusterQueue, `cohort` a Cohort. A label or
// annotation that the object lacks, and an object that is not known, give an empty value. Where the
// values of an object change, its gauges change their labels; counters and histograms begin new
// series, and those of the last kPastValues changes stay.
//
// Bounds: the Configuration limits the number of labels; a value is cut to kMostValueBytes, and a
// value that is not tracked becomes kUntracked.
//
// Threads: as kube::Metrics, but SetObject and ForgetObject: one. Errors: none.
// Source: Kueue KEP-7066, pkg/metrics/custom_labels.go.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "admission/controller/metrics/metrics_options.h"
#include "api/object_meta.h"
#include "kube/runtime/metrics.h"

namespace berth::admission {

class LabelledMetrics {
 public:
  using Source = CustomMetricLabel::Source;
  using Values = std::vector<std::string>;
  static constexpr std::size_t kPastValues = 4;
  static constexpr std::size_t kMostValueBytes = 256;
  static constexpr char kUntracked[] = "kueue.x-k8s.io/_UNTRACKED_VALUE_";

  LabelledMetrics(kube::Metrics& metrics, std::vector<CustomMetricLabel> labels)
      : metrics_(metrics), labels_(std::move(labels)) {}

  bool Has(Source source) const;
  // The values of an object's custom labels, in the order of the Configuration.
  Values ValuesOf(Source source, const api::ObjectMeta& meta) const;
  // Labels with these values.
  kube::MetricLabels Named(Source source, const Values& values) const;

  // `key`: the name, or "namespace/name" of a LocalQueue.
  void SetObject(Source source, const std::string& key, const api::ObjectMeta& meta);
  void ForgetObject(Source source, const std::string& key);

  // These do what kube::Metrics does, with the custom labels added to `labels`.
  void Increment(const std::string& name, const kube::MetricLabels& labels, double by = 1) {
    metrics_.Increment(name, WithCustom(labels), by);
  }
  void SetGauge(const std::string& name, const kube::MetricLabels& labels, double value) {
    metrics_.SetGauge(name, WithCustom(labels), value);
  }
  void Observe(const std::string& name, const kube::MetricLabels& labels, double value) {
    metrics_.Observe(name, WithCustom(labels), value);
  }
  void RemoveGauge(const std::string& name, const kube::MetricLabels& labels) {
    metrics_.RemoveGauge(name, WithCustom(labels));
  }
  // Removes every series that has all of `labels`.
  void Remove(const kube::MetricLabels& labels) { metrics_.Remove(labels); }

 private:
  using Object = std::pair<Source, std::string>;
  struct Known {
    Values values;
    std::deque<Values> past;
  };

  kube::MetricLabels WithCustom(const kube::MetricLabels& labels) const;
  void Change(const Object& object, Known& known, Values values);
  Values EmptyValues(Source source) const;

  kube::Metrics& metrics_;
  const std::vector<CustomMetricLabel> labels_;
  std::map<Object, Known> objects_;
};

}  // namespace berth::admission

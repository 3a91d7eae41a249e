// kube/runtime/metrics.h — counters, gauges and histograms with labels, and their Prometheus text.
//
// A thin layer over prometheus-cpp. The first use of a metric declares it, with its kind, help and
// buckets in the table of metrics (api/metric_table.h); a name that the table lacks, or has with
// another kind, aborts: a bug. The first use of a series creates it; label values come from object
// names, so Remove deletes the series of a deleted object.
//
// Threads: every function may be called from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kube/runtime/series_index.h"

namespace berth::kube {

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // Adds these labels to every series of metrics whose first use comes later.
  void SetCommonLabels(const MetricLabels& labels);

  void Increment(const std::string& name, const MetricLabels& labels, double by = 1);
  void SetGauge(const std::string& name, const MetricLabels& labels, double value);
  void Observe(const std::string& name, const MetricLabels& labels, double value);

  // Removes every series, of every metric, that has all of `labels`, of which there is one or more.
  // The time grows with the number of series that have the rarest of the labels.
  void Remove(const MetricLabels& labels);
  // Changes labels of every gauge's series that has all of `labels`; the series keep their values.
  void RelabelGauges(const MetricLabels& labels, const MetricLabels& change);
  // Removes one gauge's series with exactly these labels, if present.
  void RemoveGauge(const std::string& name, const MetricLabels& labels);

  // Adds to Text the families that `source` returns in the same format, under names of its own.
  // `source` is called by Text, on its thread.
  void AddSource(std::function<std::string()> source);

  std::string Text() const;  // text exposition format 0.0.4

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::kube

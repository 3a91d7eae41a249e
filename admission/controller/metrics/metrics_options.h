// admission/controller/metrics/metrics_options.h — options of metrics per flavor and per LocalQueue
// (metrics.… of Kueue's configuration).
//
// Threads: data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/object_meta.h"

namespace berth::admission {

// metrics.customLabels: a label of series, "custom_" + name, with the value of a label or
// annotation of the object that the series belongs to.
struct CustomMetricLabel {
  enum class Source : std::uint8_t { kClusterQueue, kLocalQueue, kCohort, kWorkload };
  enum class Metadata : std::uint8_t { kLabel, kAnnotation };
  std::string name;
  Source source = Source::kClusterQueue;
  Metadata metadata = Metadata::kLabel;
  std::string key;                          // the name of the label or annotation
  std::vector<std::string> tracked_values;  // other values are shown as one; empty: all are shown
  friend bool operator==(const CustomMetricLabel&, const CustomMetricLabel&) = default;
};

struct MetricsOptions {
  bool cluster_queue_resources = false;  // quota and usage by flavor and resource
  bool local_queues = false;
  std::optional<api::LabelSelector> local_queue_selector;  // nullopt: all
  // Empty where the gate CustomMetricLabels is off.
  std::vector<CustomMetricLabel> custom_labels;
};

}  // namespace berth::admission

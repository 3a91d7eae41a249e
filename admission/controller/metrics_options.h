// admission/controller/metrics_options.h — which of the finer metrics are kept
// (metrics.… of Kueue's configuration).
//
// Threads: data.
#pragma once

#include <optional>

#include "api/object_meta.h"

namespace berth::admission {

struct MetricsOptions {
  bool cluster_queue_resources = false;  // quota and usage by flavor and resource
  bool local_queues = false;
  std::optional<api::LabelSelector> local_queue_selector;  // nullopt: all
};

}  // namespace berth::admission

// admission/controller/metrics_options.h — options of metrics per flavor and per LocalQueue
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

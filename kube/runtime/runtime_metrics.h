// kube/runtime/runtime_metrics.h — RuntimeStats and the figures of this process as the metrics that
// every program of controller-runtime has: controller_runtime_*, workqueue_*, rest_client_*,
// process_*, leader_election_master_status.
//
// Threads: any. Errors: a figure of /proc that cannot be read is left out.
// Source: controller-runtime pkg/metrics, client-go tools/metrics, prometheus' process collector.
#pragma once

#include <string>

#include "kube/runtime/runtime_stats.h"

namespace berth::kube {

struct RuntimeMetricsOptions {
  std::string host;   // the API server: "10.0.0.1:443"
  std::string lease;  // name of the lease; empty: no leader election
};

// Writes the metrics in Prometheus' text format. `is_leader`: whether the process holds the lease.
std::string RuntimeMetricsText(const RuntimeStats& stats, const RuntimeMetricsOptions& options,
                               bool is_leader);

}  // namespace berth::kube

// view/screens/status.h — `berth status`: queues, waiting workloads, capacity requests, pools.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "view/screens/cluster_view.h"
#include "view/screens/text.h"

namespace berth::view {

struct StatusOptions {
  std::string only;   // a ClusterQueue, LocalQueue or cohort; empty: all
  bool cost = false;  // shows what the running workloads of each queue cost
};

std::string RenderStatus(const ClusterView& view, const StatusOptions& options,
                         const TextStyle& style);

// The keys are stable. Amounts are whole numbers of the "unit" beside them ("milliCPU", "bytes",
// "items"); names of spans end in Seconds, instants are RFC 3339.
nlohmann::json StatusJson(const ClusterView& view, const StatusOptions& options);

// Whether `name` is a ClusterQueue, LocalQueue or cohort of the view.
bool IsKnownQueue(const ClusterView& view, const std::string& name);

}  // namespace berth::view

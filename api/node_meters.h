// api/node_meters.h — how long nodes have stood for the workloads of one LocalQueue, and at which
// price: the second content of a ConfigMap berth-spend-….
//
// Units: USD in billionths (nano-dollars), seconds. The rules are in provisioning/meter.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"

namespace berth::api {

// A node, for one Workload. Times are whole seconds.
struct NodeMeter {
  std::string node;
  std::string workload;            // its name; the namespace is that of the queue
  std::string charge;              // KeptChargeId of the request; empty: an idle node was leased
  std::string provisioning_class;  // empty: unknown
  WallTime from{};
  WallTime until{};                         // counted up to this time
  std::optional<std::int64_t> hourly_nano;  // nullopt: no price was known
  bool open = false;                        // the node exists, and the meter counts
  friend bool operator==(const NodeMeter&, const NodeMeter&) = default;
};

struct QueueMeters {
  std::map<std::string, NodeMeter> meters;  // by node and Workload: MeterId
  // The sums of meters that were dropped.
  std::int64_t folded_seconds = 0;
  std::int64_t folded_nano = 0;
  friend bool operator==(const QueueMeters&, const QueueMeters&) = default;
};

}  // namespace berth::api

// provisioning/meter.h — what nodes of workloads cost, measured: each node from its creation to its
// removal, for the Workload that has the node.
//
//     node of a request ─Begin─▶ meter ─Extend─▶ … ─End─▶ kept for a week, then added up
//                                  └─ leased by another Workload: that one's meter begins
//
// A node that stands idle counts for its last Workload. While no controller runs a node that stays
// is counted, and a node that goes is not, from the last Extend on: never too much.
//
// The measured cost of a request takes the place of its charge (spend.h) once its nodes are gone;
// until then the larger of the two counts.
//
// Bounded: 3000 nodes and Workloads of a queue; nodes beyond the bound are not measured.
//
// Units: USD in billionths, saturating; seconds. Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/node_meters.h"
#include "api/pod.h"
#include "base/clock.h"

namespace berth::provisioning {

// The use of a node by one Workload.
struct NodeUse {
  std::string queue;  // namespace/name of the LocalQueue
  std::string node_uid;
  std::string workload_uid;
  WallTime created{};    // the node
  api::NodeMeter meter;  // its times are not set
};

struct MeterPlace {
  std::string queue;
  std::string id;
  friend bool operator==(const MeterPlace&, const MeterPlace&) = default;
};

// A meter that has counted further, for callers that keep accounts.
struct MeterNote {
  MeterPlace place;
  api::NodeMeter meter;
  std::string workload_uid;   // empty: the Workload is gone
  std::string cluster_queue;  // empty: the Workload has no quota
  std::string pool;           // the node's pool, by the labels of clouds; empty: unknown
  std::int64_t gpus = 0;      // whole ones of the node; 0 also where the node has gone
};

// The sum of one meter or of several.
struct Metered {
  std::int64_t seconds = 0;
  std::int64_t nano_dollars = 0;  // the cost of the nodes whose price is known
  std::int64_t unpriced = 0;      // nodes without a price
  std::int64_t open = 0;          // nodes that stand
  std::int64_t hourly_nano = 0;   // the rate of the open nodes
  void Add(const api::NodeMeter& meter, WallTime until);
};

// 20 hex digits and a dash; the digits before the dash are the node's.
std::string MeterId(const std::string& node_uid, const std::string& workload_uid);
// Whether the meter of that id is the Workload's, or the node's.
bool IsOf(const std::string& meter_id, const std::string& workload_uid);
bool IsOnNode(const std::string& meter_id, const std::string& node_uid);

// The whole GPUs of the node: shares are counted together by `shares_per_gpu` (by resource, of the
// flavor: gpu_shares.h), else by the label nvidia.com/gpu.replicas of the device plugin.
std::int64_t WholeGpusOf(const api::Node& node,
                         const std::map<std::string, api::Amount>& shares_per_gpu);

// price × time, saturating.
std::int64_t CostFor(std::int64_t hourly_nano, std::int64_t seconds);

class MeterMemory {
 public:
  // The open meter of the node; nullopt: none.
  std::optional<MeterPlace> OpenOf(const std::string& node_uid) const;
  // The open meters of nodes of that name.
  std::vector<MeterPlace> OpenNamed(const std::string& node) const;
  // Whether some meter of the node is known, open or not.
  bool Knows(const std::string& node_uid) const;
  static MeterPlace PlaceOf(const NodeUse& use);

  // Begins to count, or goes on with the Workload's earlier meter of the node. A node without any
  // meter counts from its creation, another from `now`. Precondition: no meter of the node is open.
  void Begin(const NodeUse& use, WallTime now);
  // Counts up to `now`. Returns what is added. A clock that was set back adds nothing.
  Metered Extend(const MeterPlace& place, WallTime now);
  void End(const MeterPlace& place);

  const api::QueueMeters& Of(const std::string& queue) const;
  // Returns what the meters have counted, by the charge of the request.
  std::map<std::string, Metered> ByCharge(const std::string& queue) const;
  // Joins what another process has written: the longer meter holds.
  void Merge(const std::string& queue, const api::QueueMeters& other);

 private:
  static void Drop(api::QueueMeters& queue, WallTime now);

  std::map<std::string, api::QueueMeters> by_queue_;
};

}  // namespace berth::provisioning

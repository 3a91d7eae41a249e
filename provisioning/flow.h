// provisioning/flow.h — how many requests are open at once for each class and flavor, and which
// Workloads may make the next ones.
//
//     waiting Workloads, highest priority first, then the oldest
//         ─▶ open requests, at most the limit
//
// Autoscalers take the open requests in an order of their own (cluster-autoscaler at random); with
// few of them open the order of the queue decides. A Workload without room waits with its quota.
//
// The book is what the driver has seen, not a memory: after a restart the requests that exist are
// counted first, and each Workload takes its place again at the next decision on it.
//
// Threads: one. Errors: none. Source: cluster-autoscaler's injector of ProvisioningRequests.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/object_meta.h"
#include "api/workload.h"
#include "base/clock.h"

namespace berth::provisioning {

struct Lane {
  std::string provisioning_class;
  std::string flavors;  // joined by "+"
  friend auto operator<=>(const Lane&, const Lane&) = default;
};

// The place of a Workload in the order of the queue; the first is the least.
struct FlowPlace {
  std::int64_t precedence = 0;  // the priority, negated
  WallTime queued{};
  std::string uid;
  friend auto operator<=>(const FlowPlace&, const FlowPlace&) = default;
};
FlowPlace FlowPlaceOf(const api::Workload& workload);

// The lane, with its limit, in which a decision found no room.
struct FlowWait {
  Lane lane;
  std::int32_t limit = 0;
  friend bool operator==(const FlowWait&, const FlowWait&) = default;
};

using OpenRequests = std::map<Lane, std::int32_t>;

class Flow {
 public:
  // Whether the Workload may make one more request: the lane has room for it and for all that wait
  // before it.
  bool MayAsk(const FlowWait& wait, const FlowPlace& place) const;

  // Sets the open requests of the Workload, in place of those of the last call.
  void SetOpen(const std::string& uid, OpenRequests open);
  // Sets whether the Workload waits, and in which lane; nullopt: it does not wait. `key`: the key
  // of the Workload.
  void SetWait(const FlowPlace& place, const api::ObjectKey& key, std::optional<FlowWait> wait);
  void Drop(const std::string& uid);

  // The Workloads that wait and have room, of lanes that changed since the last call.
  std::vector<api::ObjectKey> TakeReady();

 private:
  struct Waiting {
    api::ObjectKey key;
    std::int32_t limit = 0;
  };
  struct LaneBook {
    std::int32_t open = 0;
    std::map<FlowPlace, Waiting> waiting;
  };

  void Leave(const std::string& uid);

  std::map<Lane, LaneBook> lanes_;
  std::map<std::string, OpenRequests> open_;                   // by Workload uid
  std::map<std::string, std::pair<Lane, FlowPlace>> waiting_;  // by Workload uid
  std::set<Lane> changed_;
};

}  // namespace berth::provisioning

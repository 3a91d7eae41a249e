// provisioning/late_pods.h — what happens to pods after their capacity came: pods that find no
// node, pods of others on their nodes, nodes that go while pods need them.
//
// Threads: pure functions. Errors: none. Units: seconds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/condition.h"
#include "api/pod.h"
#include "base/clock.h"

namespace berth::provisioning {

inline constexpr char kLatePodsReason[] = "PodsLate";
inline constexpr char kLostNodesReason[] = "LostNodes";
inline constexpr char kBootTimeoutReason[] = "BootTimeout";

// A node that is not ready for this long is lost.
inline constexpr Duration kNotReadyFor = std::chrono::minutes(5);

// The condition that says that the pod has lost its node; null: none. A pod that another pod
// preempted has not lost its node.
const api::Condition* LostItsNode(const api::Pod& pod);

struct PodsSeen {
  // Pods that use a request or a lease of the Workload: unfinished pods, and pods that lost their
  // node.
  std::vector<const api::Pod*> pods;
  std::vector<const api::Pod*> foreign;  // pods of others on the nodes of `pods`; no daemons
  std::map<std::string, const api::Node*> nodes;  // nodes that pods are bound to; null: gone
};

// What lets a pod use capacity: the name of the request, or the holder of the lease.
struct Claim {
  std::string request;
  std::string holder;
};
bool Uses(const api::Pod& pod, const Claim& claim);

struct Lateness {
  std::int64_t late = 0;  // pods without a node
  std::int64_t pods = 0;
  std::string message;           // names the scheduler's reason, and pods of others
  std::optional<WallTime> next;  // when a further pod is late
};

// The pods of the claim that have had no node for `limit`, counted from their creation, but not
// from before `came`.
Lateness LatenessOf(const PodsSeen& seen, const Claim& claim, WallTime came, Duration limit,
                    WallTime now);

struct Loss {
  std::string message;           // empty: no node is lost
  std::optional<WallTime> next;  // when a node that is not ready counts as lost
};

// The nodes that pods of the claim are bound to, and that are gone or not ready.
Loss LossOf(const PodsSeen& seen, const Claim& claim, WallTime now);

}  // namespace berth::provisioning

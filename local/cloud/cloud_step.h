// local/cloud/cloud_step.h — one step of the emulated cloud, a deterministic state machine.
//
//     pools, nodes, requests, pods + now  --StepCloud-->  effects, and when to step again
//
// All state is in the API objects (conditions with their times, node annotations), so that a
// restart continues from any point. Effects are in the order in which they must be performed: nodes
// before the condition that announces them.
//
// ProvisioningRequests of class queued-provisioning.gke.io, as GKE serves them:
//
//              1                2                 3                    4                   5
//     (new) -----> NotAccepted ---> queued -----> Provisioned -------> BookingExpired ---> Revoked
//                      | 6            | 7 ^ no stock:
//                      v              v   | Provisioned=False
//                    Failed         Failed
//
// 1 at once    2 a pool takes all pods on new nodes, after accept_delay    3 machines in stock and
// first in its pool's queue, after grant_delay    4 after booking    5 maxRunDurationSeconds after
// 3: the machines are revoked    6 no pool, or bad parameters, for early_failure_grace    7 its
// ValidUntilSeconds have passed, or its pool is gone
//
// Pure. Units: durations of real time. Source: GKE's autoscaler (queued provisioning), 2026-08.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "kube/runtime/event_type.h"
#include "local/apiserver/api.h"
#include "local/cloud/machine_node.h"
#include "local/cloud/node_pool.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cloud {

struct CloudTimes {
  Duration accept_delay = std::chrono::seconds(1);         // from creation to the cloud's queue
  Duration exhausted_after = std::chrono::seconds(1);      // from the queue to a stock-out
  Duration grant_delay = std::chrono::seconds(5);          // from the queue to the machines
  Duration early_failure_grace = std::chrono::minutes(2);  // a pool may be created meanwhile
  Duration missing_pool_grace = std::chrono::minutes(2);
  Duration booking = std::chrono::minutes(10);  // idle nodes are not removed
  Duration default_max_run = std::chrono::hours(7 * 24);
  Duration keep_finished = std::chrono::hours(7 * 24);  // after this time the request is deleted
};

struct CloudView {
  std::vector<NodePool> pools;                     // by name
  std::vector<Object> nodes;                       // by name; foreign nodes do not change
  std::vector<Object> requests;                    // only those of class queued-provisioning.gke.io
  std::vector<Object> pods;                        // not finished
  std::map<cluster::ObjectKey, Object> templates;  // named by requests; existing ones
  std::optional<MachineSize> machine;              // nullopt: this machine is no node
};

struct CreateNode {
  Json node;
};
struct FinishNode {
  std::string name;
};  // the node has booted
struct WarnNode {
  std::string name;
};  // the cloud takes the machine back soon
struct MarkIdle {
  std::string name;
  std::optional<WallTime> since;
};  // nullopt: the node is busy again
struct DeleteNode {
  std::string name;
};
struct CordonNode {
  std::string name;
  bool closed = false;
};
struct ResizeNode {
  std::string name;
  Json amounts;  // capacity and allocatable
};
struct SetRequestStatus {
  cluster::ObjectKey key;
  std::string uid;
  Json status;
};
struct DeleteRequest {
  cluster::ObjectKey key;
};
struct SetPoolStatus {
  std::string name;
  Json status;
};
struct Announce {
  Object about;
  kube::EventType type = kube::EventType::kNormal;
  std::string reason;
  std::string message;
};
using CloudEffect =
    std::variant<CreateNode, FinishNode, WarnNode, MarkIdle, DeleteNode, CordonNode, ResizeNode,
                 SetRequestStatus, DeleteRequest, SetPoolStatus, Announce>;

struct CloudStep {
  std::vector<CloudEffect> effects;
  std::optional<WallTime> look_again;
};

CloudStep StepCloud(const CloudView& view, const CloudTimes& times, WallTime now);

}  // namespace berth::local::cloud

// local/cloud/cloud_step.h — the emulated cloud: one step of a deterministic machine over time.
//
//     pools, nodes, requests, pods + now  --StepCloud-->  effects, and when to look again
//
// All state lives in the API objects (conditions with their times, node annotations), so a restart
// at any point goes on where it was. Effects are in the order in which they must happen: nodes
// before the condition that says they are there.
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
// first in its pool's line, after grant_delay    4 after booking    5 maxRunDurationSeconds after
// 3: the machines are taken back    6 no pool, or bad parameters, for early_failure_grace    7 its
// ValidUntilSeconds are over, or its pool is gone
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
#include "local/cloud/node_pool.h"
#include "local/cluster/fields.h"

namespace berth::local::cloud {

struct CloudTimes {
  Duration accept_delay = std::chrono::seconds(1);         // from creation to the cloud's queue
  Duration exhausted_after = std::chrono::seconds(1);      // from there to "not enough resources"
  Duration grant_delay = std::chrono::seconds(5);          // from there to the machines
  Duration early_failure_grace = std::chrono::minutes(2);  // a pool may still be made
  Duration missing_pool_grace = std::chrono::minutes(2);
  Duration booking = std::chrono::minutes(10);  // nodes are not taken away for idleness
  Duration default_max_run = std::chrono::hours(7 * 24);
  Duration keep_finished = std::chrono::hours(7 * 24);  // then the request is deleted
};

struct CloudView {
  std::vector<NodePool> pools;                     // by name
  std::vector<Object> nodes;                       // by name; those of others are left alone
  std::vector<Object> requests;                    // of our class
  std::vector<Object> pods;                        // that have not ended
  std::map<cluster::ObjectKey, Object> templates;  // those that requests name and that exist
};

struct CreateNode {
  Json node;
};
struct FinishNode {
  std::string name;
};  // it has booted
struct MarkIdle {
  std::string name;
  std::optional<WallTime> since;
};  // nullopt: busy again
struct DeleteNode {
  std::string name;
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
using CloudEffect = std::variant<CreateNode, FinishNode, MarkIdle, DeleteNode, SetRequestStatus,
                                 DeleteRequest, SetPoolStatus, Announce>;

struct CloudStep {
  std::vector<CloudEffect> effects;
  std::optional<WallTime> look_again;
};

CloudStep StepCloud(const CloudView& view, const CloudTimes& times, WallTime now);

}  // namespace berth::local::cloud

// provisioning/reuse.h — whether idle nodes take the pods of a Workload, so that no capacity is
// asked for.
//
//     nodes, leases, pods --PlanReuse--> the nodes to lease, or nothing
//
// A node counts that is Ready and schedulable, allows some of the pods, holds no pods but those of
// daemons, is not promised to another Workload by a lease or by a ProvisioningRequest, and lives
// long enough. All pods have to fit, else nothing is reused.
//
// Nodes that one request brought are a set. Under the rule WholeSet a Workload gets a part of a set
// only while no larger gang waits that could use the set.
//
// Threads: pure functions. Errors: none. Units: seconds, pods.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/pod.h"
#include "api/provisioning_policy.h"
#include "api/workload.h"
#include "base/clock.h"
#include "provisioning/pod_sets.h"

namespace berth::provisioning {

struct NodeSeen {
  const api::Node* node = nullptr;
  bool idle = false;           // no pods but those of daemons
  api::ResourceAmounts taken;  // taken by pods of daemons, "pods" included
  std::int64_t set_size = 1;   // nodes of the request that brought the node
};

// The view of a cluster's nodes for one Workload.
struct NodesSeen {
  std::vector<NodeSeen> nodes;   // idle nodes, and nodes leased to the Workload
  std::set<std::string> booked;  // sets that belong to requests of other Workloads
  bool unnamed_booking = false;  // another Workload has a request that does not name its nodes
  std::vector<const api::Workload*> waiting;  // other Workloads that wait to start
};

struct ReuseInput {
  const NodesSeen& seen;
  const std::vector<PodSetGroup>& groups;
  const api::ProvisioningRequestConfig& config;
  const api::ProvisioningReuse& rule;
  std::string holder;               // see LeaseHolder
  std::int64_t needed_seconds = 0;  // the life that a node must have left
  WallTime now{};
};

// The nodes in the order in which they are to be leased, by name; nullopt: the pods do not fit.
std::optional<std::vector<const api::Node*>> PlanReuse(const ReuseInput& input);

// The set of the node: the name of the request that brought it, or empty.
std::string SetOf(const api::Node& node);

// The life that a node must have left for the Workload: its run and five minutes.
std::int64_t NeededLife(const api::ProvisioningReuse& rule, std::optional<std::int64_t> run);

// When the cloud takes the node back; nullopt: not known.
std::optional<WallTime> EndOf(const api::Node& node);

}  // namespace berth::provisioning

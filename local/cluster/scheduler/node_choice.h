// local/cluster/scheduler/node_choice.h — chooses the node of a pod, or explains in
// kube-scheduler's words why none fits.
//
// Pure. Source: kube-scheduler's filter plugins (NodeUnschedulable, TaintToleration, NodeAffinity,
// NodeResourcesFit), preferred node affinity, and the least-allocated score.
#pragma once

#include <map>
#include <string>
#include <variant>

#include "api/quantity.h"
#include "local/apiserver/api.h"

namespace berth::local::cluster {

struct NodeRoom {
  Object node;
  api::ResourceAmounts allocatable;  // includes "pods"
  api::ResourceAmounts used;         // includes "pods"
};
using NodeRooms = std::map<std::string, NodeRoom>;  // by name

NodeRoom MakeRoom(Object node);

// The amounts that `pod` takes on its node, itself included ("pods": 1).
api::ResourceAmounts PodFootprint(const Json& pod);

struct ChosenNode {
  std::string name;
};
struct NoNode {
  std::string message;
};

// The feasible node with the smallest used share of cpu and memory; the first by name among
// equals.
std::variant<ChosenNode, NoNode> ChooseNode(const Json& pod, const NodeRooms& rooms);

}  // namespace berth::local::cluster

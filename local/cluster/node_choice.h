// local/cluster/node_choice.h — which node a pod goes to, or why to none, in kube-scheduler's
// words.
//
// Pure. Source: kube-scheduler's filter plugins (NodeUnschedulable, TaintToleration, NodeAffinity,
// NodeResourcesFit) and its least-allocated score.
#pragma once

#include <map>
#include <string>
#include <variant>

#include "api/quantity.h"
#include "local/apiserver/api.h"

namespace berth::local::cluster {

struct NodeRoom {
  Object node;
  api::ResourceAmounts allocatable;  // with "pods"
  api::ResourceAmounts used;         // with "pods"
};
using NodeRooms = std::map<std::string, NodeRoom>;  // by name

NodeRoom MakeRoom(Object node);

// What `pod` takes on its node, itself included ("pods": 1).
api::ResourceAmounts PodFootprint(const Json& pod);

struct ChosenNode {
  std::string name;
};
struct NoNode {
  std::string message;
};

// The feasible node with the smallest share of cpu and memory taken; the first by name among
// equals.
std::variant<ChosenNode, NoNode> ChooseNode(const Json& pod, const NodeRooms& rooms);

}  // namespace berth::local::cluster

// tests/admission/controller/wakes_nodes.h — a Topology, Nodes and a pod of no queue in the world
// of wakes (wakes_world.h).
#pragma once

#include <string>

#include "tests/admission/controller/wakes_world.h"

namespace berth::admission {

// Creates or replaces the Topology "dc"; `levels` is the JSON text of its levels.
void PutLevels(WakesWorld& world, const std::string& levels);
// The Topology "dc" of hostnames and the flavor "default" on it.
void PutTopology(WakesWorld& world);
// The same, a queue with quota for 100 CPUs, and `w` of 4 CPUs.
void WaitForNodes(WakesWorld& world);
// A ready node of 4 CPUs; `more` changes it.
void PutNode(WakesWorld& world, const std::string& name, const std::string& more = "{}");
// The running pod "p" of no queue, with one CPU of the node.
void PutPod(WakesWorld& world, const std::string& node);
// The pod has succeeded.
void EndPod(WakesWorld& world);

}  // namespace berth::admission

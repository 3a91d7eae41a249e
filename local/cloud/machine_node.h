// local/cloud/machine_node.h — the Node that this machine is while a cluster has no other one.
//
//     no NodePool, no other Node ──▶ Node "berth" ──a NodePool or another Node──▶ cordoned
//                                        ▲   └──────────── both are gone ────────────┘ │
//                                        └── both are gone ── deleted ◀── no pod left ─┘
//
// A cordon of an administrator stays; the annotation kYieldsAnnotation marks the cordon of the
// cloud. The reporter of nodes (local/cluster/kubelet/node_reporter.h) makes the Node ready.
//
// Pure. Units: thousandths of a CPU, bytes.
#pragma once

#include <cstdint>

#include "local/apiserver/api.h"

namespace berth::local::cloud {

struct StepContext;

inline constexpr char kMachineNode[] = "berth";
inline constexpr char kYieldsAnnotation[] = "cloud.berth.dev/yields-to-other-nodes";

struct MachineSize {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
};

// A Node of the size, without conditions.
Json MakeMachineNode(const MachineSize& size);

// Cordons the node (`closed`), or ends the cloud's own cordon; returns whether it changed.
bool SetCordon(Json& node, bool closed);

// Adds the effects on the machine's Node. Does nothing where the view has no machine.
void StepMachineNode(StepContext& context);

}  // namespace berth::local::cloud

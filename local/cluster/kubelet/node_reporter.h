// local/cluster/kubelet/node_reporter.h — the kubelet's report on a node: conditions, addresses,
// nodeInfo.
//
//     Node without a condition Ready ──▶ its status says ready, on this machine
//
// Nodes of the emulated cloud come with the condition, and boot (local/cloud). Every other Node
// stands for this machine, which is up: nodes of an administrator, and nodes of autoscalers that
// make Node objects without machines (Karpenter's KWOK provider). A condition that a node has stays
// as it is.
//
// Threads: as ObjectCache.
// Source: Kubernetes "Node Status".
#pragma once

#include "base/clock.h"
#include "base/executor.h"
#include "local/cluster/objects/looks.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/writer.h"

namespace berth::local::cluster {

// Adds the report to a node that lacks one; returns whether it did.
bool ReportReady(Json& node, WallTime now);

class NodeReporter {
 public:
  // Registers its listener; call before the cache tracks nodes.
  NodeReporter(Api& api, ObjectCache& cache, Executor& executor, const Clock& clock);
  NodeReporter(const NodeReporter&) = delete;
  NodeReporter& operator=(const NodeReporter&) = delete;

  // Call after the cache is filled.
  void Start() { nodes_.Start(); }

 private:
  Result<NextLook> Look(const ObjectKey& key);

  ObjectCache& cache_;
  const Clock& clock_;
  Writer writer_;
  FunctionController nodes_;
};

}  // namespace berth::local::cluster

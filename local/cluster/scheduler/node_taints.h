// local/cluster/scheduler/node_taints.h — gives nodes taints by their conditions, and deletes pods
// that do not tolerate the taints.
//
//     condition Ready=False, Unknown, pressure; spec.unschedulable ──▶ taints of the node
//     NoExecute taint that a pod does not tolerate, or not for longer ──▶ the pod is deleted
//
// A node without a condition Ready keeps its taints until its first report (node_reporter.h).
//
// Threads: as ObjectCache.
// Source: Kubernetes "Taints and Tolerations", node lifecycle and taint eviction controllers.
#pragma once

#include <map>
#include <string>

#include "base/clock.h"
#include "base/executor.h"
#include "local/cluster/objects/looks.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/object_events.h"
#include "local/cluster/objects/writer.h"

namespace berth::local::cluster {

// Gives the node the taints that its conditions and `unschedulable` require, and removes the other
// taints of these kinds; returns whether any changed.
bool SetTaints(Json& node, WallTime now);

class NodeTaints {
 public:
  // Registers its listeners; call before the cache tracks pods and nodes.
  NodeTaints(Api& api, ObjectCache& cache, Executor& executor, Executor& event_writes,
             const Clock& clock);
  NodeTaints(const NodeTaints&) = delete;
  NodeTaints& operator=(const NodeTaints&) = delete;

  // Call after the cache is filled.
  void Start();

 private:
  void OnNode(const ObjectChange& change);
  void OnPod(const ObjectChange& change);
  Result<NextLook> LookAtNode(const ObjectKey& key);
  Result<NextLook> LookAtPod(const ObjectKey& key);
  Status Evict(const Json& pod);

  ObjectCache& cache_;
  const Clock& clock_;
  Writer writer_;
  ObjectEvents events_;
  FunctionController nodes_;
  FunctionController pods_;
  std::map<std::string, WallTime> tolerates_since_;  // by the pod's uid
};

}  // namespace berth::local::cluster

// local/cluster/scheduler/pod_binder.h — binds pending pods to nodes: highest priority first, then
// oldest.
//
// Tries all pending pods again whenever room may have appeared: a node came or changed, a pod ended
// or was deleted. Ignores gated pods and pods of other schedulers. Never preempts.
//
// Threads: as ObjectCache.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/executor.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/object_events.h"
#include "local/cluster/objects/writer.h"
#include "local/cluster/scheduler/node_choice.h"

namespace berth::local::cluster {

class PodBinder {
 public:
  // Registers its indexes and listeners; call before the cache tracks pods and nodes.
  PodBinder(Api& api, ObjectCache& cache, Executor& executor, Executor& event_writes,
            const Clock& clock);
  PodBinder(const PodBinder&) = delete;
  PodBinder& operator=(const PodBinder&) = delete;

 private:
  void OnPod(const ObjectChange& change);
  void OnNode(const ObjectChange& change);
  void LookSoon() { LookAfter(last_look_); }
  void LookAfter(Duration delay);
  void LookAtAll();
  // Binds the pod or reports it unschedulable; false: an error, retry.
  bool Place(const Object& pod);
  std::string ShapeOf(const Json& pod) const;
  bool Bind(const Json& pod, const std::string& node);
  bool Refuse(const Json& pod, const std::string& message);

  Api& api_;
  ObjectCache& cache_;
  Executor& executor_;
  const Clock& clock_;
  Writer writer_;
  ObjectEvents events_;
  NodeRooms rooms_;
  std::map<std::string, api::ResourceAmounts> used_by_node_;  // includes absent nodes
  // The message given in this pass to pods of one controller with equal selection; reset by a bind.
  std::map<std::string, std::string> refusal_by_shape_;
  bool look_is_posted_ = false;
  Duration last_look_{};  // duration of the last pass; the binder waits as long before the next
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::local::cluster

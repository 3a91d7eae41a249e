// local/cluster/garbage/pod_garbage.h — the pod garbage collector: removes pods that no node will
// end.
//
//     a pod that is being deleted, and has no node          ─▶ Failed, removed    after 20 s
//     a pod of a node that is gone                          ─▶ Failed, removed    after 40 s
//     a pod that is being deleted, on a node that is not
//         ready and has the taint out-of-service            ─▶ Failed, removed    at once
//     more ended pods than the limit                        ─▶ the oldest are removed
//
// A pod with finalizers stays, in the phase Failed, until its finalizers are gone, so that the Job
// controller can count it. Kubernetes looks every 20 s; this controller looks at each pod at the
// instant when the pod becomes garbage.
//
// Threads: as ObjectCache. Source: Kubernetes "Garbage collection of Pods", restated.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/executor.h"
#include "local/cluster/objects/looks.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/writer.h"

namespace berth::local::cluster {

class PodGarbageCollector {
 public:
  // The default of kube-controller-manager.
  static constexpr std::size_t kMostEndedPods = 12'500;

  // Registers its listeners; call before the cache tracks pods and nodes.
  PodGarbageCollector(Api& api, ObjectCache& cache, Executor& executor, const Clock& clock,
                      std::size_t most_ended_pods = kMostEndedPods);
  PodGarbageCollector(const PodGarbageCollector&) = delete;
  PodGarbageCollector& operator=(const PodGarbageCollector&) = delete;

  // Looks at all present pods. Call after the cache is filled.
  void Start();

 private:
  void OnPod(const ObjectChange& change);
  void OnNode(const ObjectChange& change);
  bool MayBeGarbage(const Json& pod) const;
  Result<NextLook> Look(const ObjectKey& key);
  Result<NextLook> LookAtOrphan(const Json& pod, const std::string& node);
  Result<NextLook> RemoveOldest();
  Status Remove(const Json& pod, bool is_orphan);

  ObjectCache& cache_;
  const Clock& clock_;
  Writer writer_;
  const std::size_t most_ended_;
  std::size_t ended_ = 0;  // pods in the cache, from Start on
  bool is_started_ = false;
  std::map<std::string, WallTime> missing_since_;  // nodes that pods name
  FunctionController pods_;
};

}  // namespace berth::local::cluster

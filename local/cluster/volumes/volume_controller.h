// local/cluster/volumes/volume_controller.h — binds PersistentVolumeClaims to PersistentVolumes,
// makes folders for claims of the class `standard` and of other classes with its provisioner, and
// removes the folders of claims that are gone (volume_plan.h).
//
// The size of a folder is not limited: requests are counted, not enforced.
//
// Threads: as ObjectCache; makes and removes folders in tasks of the Executor.
#pragma once

#include "base/clock.h"
#include "base/executor.h"
#include "local/cluster/kubelet/pod_folders.h"
#include "local/cluster/objects/looks.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/object_events.h"
#include "local/cluster/objects/writer.h"
#include "local/cluster/volumes/volume_plan.h"

namespace berth::local::cluster {

class VolumeController {
 public:
  // Registers its index and listeners; call before the cache tracks pods, claims, volumes and
  // classes.
  VolumeController(Api& api, ObjectCache& cache, Executor& executor, Executor& event_writes,
                   const Clock& clock, const PodFolders& folders);
  VolumeController(const VolumeController&) = delete;
  VolumeController& operator=(const VolumeController&) = delete;

  // Makes the default class where it is missing, then reconciles all present claims and volumes.
  // Call after the cache is filled.
  void Start();

 private:
  void OnPod(const ObjectChange& change);
  void OnVolume(const ObjectChange& change);
  void LookAtWaiting();
  Result<NextLook> LookAtClaim(const ObjectKey& key);
  Result<NextLook> LookAtVolume(const ObjectKey& key);
  Result<NextLook> LookAtPod(const ObjectKey& key);
  Status Perform(const ClaimView& view, const ClaimPlan& plan);
  Status Bind(const Json& claim, const Json& volume);
  Status MakeVolume(const ClaimView& view);
  Status Grow(const Json& claim, const std::string& capacity);
  bool IsClaimGone(const Json& volume);
  Status SetVolumePhase(const Json& volume, const std::string& phase);

  ObjectCache& cache_;
  Writer writer_;
  ObjectEvents events_;
  const PodFolders& folders_;
  FunctionController claims_;
  FunctionController volumes_;
  FunctionController ephemeral_;
};

// The folder of each claim that the pod mounts, by the name of its volume; a claim whose volume is
// not a folder has none. kUnavailable: a claim is missing or not bound.
Result<ClaimFolders> ClaimFoldersOf(const ObjectCache& cache, const PodFolders& folders,
                                    const Json& pod);

// Why the pod cannot be placed for its claims, in kube-scheduler's words; "": it can.
std::string ClaimsRefusal(const ObjectCache& cache, const Json& pod);

}  // namespace berth::local::cluster

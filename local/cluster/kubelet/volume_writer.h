// local/cluster/kubelet/volume_writer.h — the files of a pod's volumes: written before a container
// starts, and again when a token or an object that a volume shows changes.
//
//   pod + ConfigMaps, Secrets, tokens ─PlanVolumes─▶ files ─PodFolders::WriteVolumes─▶ the disk
//
// Running programs read the files again, as on a kubelet's node. A refusal is recorded as an event
// FailedMount.
//
// Threads: tasks of one Executor; asks the API.
// Errors: kInvalid, in kubelet's words, if the pod's declaration cannot be fulfilled; kUnavailable
// for the disk.
// Source: Kubernetes "Volumes".
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "local/apiserver/api.h"
#include "local/cluster/kubelet/pod_folders.h"
#include "local/cluster/kubelet/pod_volumes.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/object_events.h"

namespace berth::local::cluster {

// The volumes of one pod that have to be written again.
struct VolumeState {
  std::optional<WallTime> renew_tokens_at;  // nullopt: no volume has a token
  std::set<std::string> stale;              // the volumes that show a changed object
};

class VolumeWriter {
 public:
  struct Services {
    Api& api;
    const ObjectCache& cache;
    const PodFolders& folders;
    const Clock& clock;
    ObjectEvents& events;
    bool has_job_user = false;  // programs have a user of their own: hostPath is refused
  };
  explicit VolumeWriter(const Services& services) : services_(services) {}

  // Writes the volumes of a pod before one of its containers starts. An error: an object, a claim's
  // folder or a path of the machine is missing; a later call may succeed.
  Status Prepare(const Json& pod, VolumeState& state);
  // Writes the volumes with tokens when renew_tokens_at has come. `has_programs`: a program of the
  // pod runs; if none runs, the next start writes the files.
  void RenewTokens(const Json& pod, VolumeState& state, bool has_programs);
  // Writes the stale volumes. If an object is gone, its last content stays.
  void RenewStale(const Json& pod, VolumeState& state, bool has_programs);

 private:
  Result<std::vector<PodVolume>> ReadVolumes(const Json& pod, VolumeState& state);
  Status HasClaims(const Json& pod) const;
  Status HasMachinePaths(const Json& pod) const;

  const Services services_;
};

}  // namespace berth::local::cluster

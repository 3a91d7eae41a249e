// local/cluster/volumes/volume_plan.h — chooses the PersistentVolume of a PersistentVolumeClaim,
// and plans the end of a volume without its claim.
//
//     claim + volumes + class ──PlanClaim──▶ bind, make a volume, or wait
//     volume + claim          ──PlanVolume─▶ phase, release, remove
//
// Volumes that this cluster makes are folders of this machine, so that every node reaches them.
//
// Pure. Source: Kubernetes "Persistent Volumes"; the words are kube-controller-manager's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/cluster/objects/planned_event.h"

namespace berth::local::cluster {

// The provisioner of classes whose volumes are folders, and the class that claims get by default.
inline constexpr char kFolderProvisioner[] = "berth.dev/folder";
inline constexpr char kDefaultStorageClass[] = "standard";
inline constexpr char kClaimProtection[] = "kubernetes.io/pvc-protection";
inline constexpr char kVolumeProtection[] = "kubernetes.io/pv-protection";

Json DefaultStorageClass();

// The claims that a pod mounts, by the names of its volumes: the claims that the pod names, and the
// claims of its ephemeral volumes ("<pod>-<volume>").
struct PodClaim {
  std::string volume;
  std::string claim;
  bool read_only = false;
  bool is_ephemeral = false;
};
std::vector<PodClaim> ClaimsOfPod(const Json& pod);
// The claim of an ephemeral volume, owned by the pod.
Json EphemeralClaim(const Json& pod, const PodClaim& claim);

// Whether the volume was made by this cluster.
bool IsFolderVolume(const Json& volume);
bool IsBound(const Json& claim);

struct ClaimView {
  Object claim;
  Object storage_class;         // null: the class that the claim names does not exist
  std::vector<Object> volumes;  // all of the cluster
  bool has_consumer = false;    // a pod that has not ended mounts the claim
};

struct ClaimPlan {
  // At most one of these is set.
  bool release_protection = false;
  Object bind_to;
  bool make_volume = false;
  std::optional<std::string> phase;  // "Lost", "Pending"
  // Set if the bound claim of a folder requests more: the next capacity of claim and volume.
  std::optional<std::string> grow_to;
  std::optional<PlannedEvent> event;
};
ClaimPlan PlanClaim(const ClaimView& view);

// The volume for the claim. `path`: its folder.
Json MakeFolderVolume(const Json& claim, const Json& storage_class, const std::string& path);
std::string FolderVolumeName(const Json& claim);
// The claim's side and the volume's side of a binding.
Json ClaimReference(const Json& claim);
Json BoundStatus(const Json& claim, const Json& volume);

struct VolumePlan {
  std::string phase;                // "Available", "Bound", "Released"
  bool remove = false;              // removes its folder, too
  bool release_protection = false;  // nothing is bound to the volume that is being deleted
};
// `claim`: the object of the volume's claimRef; null: none.
VolumePlan PlanVolume(const Json& volume, const Json* claim);

}  // namespace berth::local::cluster

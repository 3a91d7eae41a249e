// local/cluster/kubelet/pod_volumes.h — the volumes of a pod: their content, and where containers
// see them.
//
//     pod + ConfigMaps, Secrets ──PlanVolumes──▶ folders and files
//     pod + container           ──MountsOf─────▶ (place in the volumes' folder,
//                                                 path in the container)
//
// emptyDir: a folder. configMap, secret, downwardAPI, projected: files, for reading.
// persistentVolumeClaim, ephemeral: the folder of the claim's volume. hostPath: the file or folder
// of this machine. Volumes of other types are left out, and so are their mounts.
//
// Pure. Source: Kubernetes "Volumes", "Projected Volumes", "Downward API".
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "local/apiserver/api.h"
#include "local/cluster/kubelet/container_environment.h"

namespace berth::local::cluster {

struct VolumeFile {
  std::string path;  // in the volume; never leads out of it
  std::string content;
  std::uint32_t mode = 0644;
  friend bool operator==(const VolumeFile&, const VolumeFile&) = default;
};

struct PodVolume {
  std::string name;
  bool is_empty_dir = false;  // programs write its content
  bool has_token = false;     // it has the token of the pod's ServiceAccount
  std::vector<VolumeFile> files;
  friend bool operator==(const PodVolume&, const PodVolume&) = default;
};

// Returns a token of the pod's ServiceAccount for an audience; "" stands for the API. `seconds`:
// the life that the volume requests.
using TokenLookup =
    std::function<Result<std::string>(const std::string& audience, std::int64_t seconds)>;

// The volumes that are folders of the pod. Null `tokens`: projected tokens are left out. kInvalid,
// in kubelet's words: an object or key that is not optional is missing.
Result<std::vector<PodVolume>> PlanVolumes(const Json& pod, const DataLookup& lookup,
                                           const TokenLookup& tokens = nullptr);

// The names of the pod's volumes that show the object, alone or among others.
std::set<std::string> VolumesShowing(const Json& pod, DataKind kind, const std::string& name);
// The names of the pod's volumes that show fields of the pod.
std::set<std::string> VolumesOfPodFields(const Json& pod);

// The folder of a claim that the pod mounts.
struct ClaimFolder {
  std::string path;
  bool read_only = false;
};
using ClaimFolders = std::map<std::string, ClaimFolder>;  // by the name of the pod's volume

struct PodMount {
  std::string source;    // absolute
  std::string sub_path;  // in the source; "": all of it
  std::string target;    // absolute, normal
  bool read_only = false;
  bool is_for_programs = false;  // programs write in it: emptyDir, claims
  friend bool operator==(const PodMount&, const PodMount&) = default;
};

// The file or folder that a volume of the type hostPath shows. `type`: "" or Directory,
// DirectoryOrCreate, File, …
struct MachinePath {
  std::string volume;
  std::string path;  // absolute, normal
  std::string type;
  friend bool operator==(const MachinePath&, const MachinePath&) = default;
};

// The machine paths of the pod. kInvalid: a path that is not absolute.
Result<std::vector<MachinePath>> MachinePathsOf(const Json& pod);

// The mounts of a container, outer ones first. `folder` has a folder for each volume of
// PlanVolumes. kInvalid: a path that leads out of its volume, or that is not absolute.
Result<std::vector<PodMount>> MountsOf(const Json& pod, const Json& container,
                                       const std::string& folder, const Environment& environment,
                                       const ClaimFolders& claims = {});

}  // namespace berth::local::cluster

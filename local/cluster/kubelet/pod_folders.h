// local/cluster/kubelet/pod_folders.h — the files of this machine's pods.
//
//     ROOT/<namespace>_<pod>_<uid>/<container>/0.log, 1.log …  one log per start
//                                 /<container>/process      its present process (process_host.h)
//     WORK/<namespace>_<pod>_<uid>/                         the working folder of all containers
//     WORK/volumes_<namespace>_<pod>_<uid>/<volume>/        its volumes
//     WORK/claims/<PersistentVolume>/                       a volume of a claim
//
// Programs know only WORK, which is outside of the folder with the keys. A pod has a folder once
// one of its containers may have run. Logs stay until the pod is deleted.
//
// Threads: any thread; at most one call for a pod at a time.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "local/apiserver/api.h"
#include "local/cluster/kubelet/pod_volumes.h"
#include "local/cluster/processes/process_host.h"

namespace berth::local::cluster {

class PodFolders {
 public:
  // `work_root` may be `root`/work. `user` owns programs' files; nullopt: this process' user.
  PodFolders(std::string root, std::string work_root, std::optional<ProcessUser> user)
      : root_(std::move(root)), work_root_(std::move(work_root)), user_(std::move(user)) {}

  // Makes the roots. kInvalid: the work root belongs to another user, or `user` cannot reach it;
  // kUnavailable: the system's reason.
  Status Open() const;
  // Makes the folders of a container. `kubeconfig` gives the text of WORK/.kube/config; it is
  // called when the pod's first container starts. An empty text, and null: no file is made.
  Status Prepare(const Json& pod, const std::string& container,
                 const std::function<Result<std::string>()>& kubeconfig = nullptr) const;
  bool Exists(const Json& pod) const;
  void Remove(const Json& pod) const;

  // Makes the folders of the volumes and their files (volume_payload.h); a folder for programs'
  // files stays as it is.
  Status WriteVolumes(const Json& pod, const std::vector<PodVolume>& volumes) const;
  // A folder beside the volumes, for the programs' files.
  Status MakeBesideVolumes(const Json& pod, const std::string& name) const;

  // An empty folder for a container's /tmp, which only this process may use until OpenTemporary.
  Result<std::string> MakeTemporary(const Json& pod, const std::string& container) const;
  Status OpenTemporary(const Json& pod, const std::string& container) const;

  // The folder of a PersistentVolume; it stays until it is removed.
  Status MakeClaimFolder(const std::string& volume) const;
  Status RemoveClaimFolder(const std::string& volume) const;
  std::string ClaimFolder(const std::string& volume) const;

  std::string WorkFolder(const Json& pod) const;
  std::string VolumesFolder(const Json& pod) const;  // programs' users cannot replace its entries
  std::string LogPath(const Json& pod, const std::string& container, int restart) const;
  std::string RecordPath(const Json& pod, const std::string& container) const;

  // The last `most_bytes` or fewer of a log, from the beginning of a line; "": no log.
  std::string LogTail(const Json& pod, const std::string& container, int restart,
                      std::size_t most_bytes) const;

  // Kills the processes in the records of an earlier run.
  void SweepRecords() const;
  // Removes the folders of all pods but these uids.
  void KeepOnly(const std::set<std::string>& uids) const;

 private:
  std::string Folder(const Json& pod) const;
  std::string TemporaryFolder(const Json& pod, const std::string& container) const;
  Status GiveToUser(const std::string& path) const;
  Status WriteKubeconfig(const Json& pod, const std::string& text) const;
  std::string root_;
  std::string work_root_;
  std::optional<ProcessUser> user_;
};

}  // namespace berth::local::cluster

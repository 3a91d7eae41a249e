// local/cluster/pod_folders.h — where the pods of this machine keep their files.
//
//     ROOT/<namespace>_<pod>_<uid>/<container>/0.log, 1.log …  one log per start
//                                 /<container>/process      who runs it now (process_host.h)
//     WORK/<namespace>_<pod>_<uid>/                         the working folder of all containers
//
// Programs are told of WORK alone; it lies outside of the folder with the keys.
// A pod has a folder once something of it may have run. Logs stay until the pod is deleted.
//
// Threads: any, as long as two calls do not work on the same pod at once.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "local/apiserver/api.h"
#include "local/cluster/process_host.h"

namespace berth::local::cluster {

class PodFolders {
 public:
  // `work_root` may be `root`/work. `user` owns what programs write; nullopt: we do.
  PodFolders(std::string root, std::string work_root, std::optional<ProcessUser> user)
      : root_(std::move(root)), work_root_(std::move(work_root)), user_(std::move(user)) {}

  // Makes the roots. kInvalid for a work root of others, or out of the user's reach; kUnavailable
  // with the system's reason if that is not possible.
  Status Open() const;
  Status Prepare(const Json& pod, const std::string& container) const;
  bool Exists(const Json& pod) const;
  void Remove(const Json& pod) const;

  std::string WorkFolder(const Json& pod) const;
  std::string LogPath(const Json& pod, const std::string& container, int restart) const;
  std::string RecordPath(const Json& pod, const std::string& container) const;

  // At most the last `most_bytes` of a log, from the beginning of a line; "" if there is none.
  std::string LogTail(const Json& pod, const std::string& container, int restart,
                      std::size_t most_bytes) const;

  // Kills the processes that the records of an earlier life name.
  void SweepRecords() const;
  // Removes the folders of pods other than these uids.
  void KeepOnly(const std::set<std::string>& uids) const;

 private:
  std::string Folder(const Json& pod) const;
  std::string root_;
  std::string work_root_;
  std::optional<ProcessUser> user_;
};

}  // namespace berth::local::cluster

// local/cluster/mount_steps.h — the system calls that show the volumes of a container to its
// program at the paths that it asks for, in a mount namespace of its own.
//
//     mounts ──PlanMounts──▶ steps ──(process_fork.cc)──▶ the program's own view of the machine
//
// A path that the machine has is covered by its volume. For a path that the machine lacks, the view
// is put together in an empty file system: the folders that lead to the path are made there, and
// show everything else that the machine has in them. What is written to such a folder itself,
// beside the volumes, is seen by that program alone. Nothing of the machine changes.
//
// Threads: reads the machine's folders; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace berth::local::cluster {

struct MountStep {
  enum class Kind {
    kFolder,    // makes the folder `to`, unless it is there
    kFile,      // makes the empty file `to`, unless it is there
    kLink,      // makes the symbolic link `to` with the text `from`
    kEmpty,     // an empty file system at `to`
    kBind,      // shows `from` at `to`, with all that is mounted in it
    kReadOnly,  // makes the mount at `to` one for reading
    kRoot,      // `to` becomes the root
  };
  Kind kind;
  std::string from;
  std::string to;
  unsigned long flags = 0;  // of kReadOnly: those that the mount has
  friend bool operator==(const MountStep&, const MountStep&) = default;
};

struct MountPoint {
  std::string source;  // exists
  std::string target;  // absolute, normal, not "/"
  bool read_only = false;
};

// The steps for mounts whose outer ones come first. `root`: an existing folder, used where a target
// does not exist; unused by others. Makes folders for targets in the sources of outer mounts.
// kInvalid: a source that is not there, a target below a file, a folder with too many entries.
Result<std::vector<MountStep>> PlanMounts(const std::vector<MountPoint>& mounts,
                                          const std::string& root);

}  // namespace berth::local::cluster

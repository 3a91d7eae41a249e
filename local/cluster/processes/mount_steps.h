// local/cluster/processes/mount_steps.h — the system calls that show the volumes of a container to
// its program at the paths that it asks for, in a mount namespace of its own.
//
//     mounts ──PlanMounts──▶ steps ──(process_fork.cc)──▶ the program's own view of the machine
//
// A path that the machine has is covered by its volume. For a path that the machine lacks, an empty
// file system takes the place of the last folder on the way that the machine has: it shows
// everything else that the machine has in that folder. Where that folder is the machine's root, the
// empty file system becomes the program's root. Files that are written to such a folder itself,
// beside the volumes, are seen by that program alone. Nothing of the machine changes.
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
    kShow,      // does what kBind does; an entry of the machine that is gone meanwhile is left out
    kMove,      // moves the mount at `from` to `to`
    kReadOnly,  // makes the mount at `to` one for reading
    kRoot,      // `to` becomes the root
    kOverlay,   // an overlay file system at `to`; `from` has its options
    kOpen,      // everybody may write in the folder `to`
    kPivot,     // the mount at `to` becomes the root, and no other file system is left
  };
  Kind kind;
  std::string from;
  std::string to;
  unsigned long flags = 0;  // kReadOnly: the present flags of the mount
  friend bool operator==(const MountStep&, const MountStep&) = default;
};

struct MountPoint {
  std::string source;  // exists
  std::string target;  // absolute, normal, not "/"
  bool read_only = false;
};

// The flags of the mount that shows `path`, for kReadOnly.
unsigned long MountFlags(const std::string& path);

// The steps for mounts whose outer ones come first. `root`: an existing folder that nobody else
// uses; it is used if a target does not exist. Makes folders for targets in the sources of outer
// mounts. Folders that the steps make are below `root` or in file systems of the program's own.
// kInvalid: a source that does not exist, a target below a file, a folder with too many entries.
Result<std::vector<MountStep>> PlanMounts(const std::vector<MountPoint>& mounts,
                                          const std::string& root);

}  // namespace berth::local::cluster

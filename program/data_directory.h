// program/data_directory.h — the folder of a local cluster: its database, its keys, its logs.
//
// Only the owner may read it: folders 0700, files 0600. A folder or file that belongs to another
// user, or is a symbolic link, is refused: another user may have planted it. A folder with foreign
// files is refused too, before its mode is changed.
#pragma once

#include <string>

#include "base/result.h"

namespace berth::program {

inline constexpr char kPageSessions[] = "page-sessions";  // a folder in the data directory

// The absolute path of --data-dir, without a trailing slash, which would follow a symbolic link;
// empty: $XDG_DATA_HOME/berth, ~/.local/share/berth. Call before any thread starts.
std::string DataDirectory(const std::string& flag);

// Creates the folder, or takes the existing one. `reset` removes the cluster in it. Errors:
// kInvalid (wrong owner or type), kUnavailable (the system's reason); both name the path and the
// remedy.
Status PrepareDataDirectory(const std::string& path, bool reset);

// Whether the file is one that `berth backup` wrote, outside of the folder `path`. Errors:
// kNotFound, kInvalid.
Status CheckBackup(const std::string& path, const std::string& backup);
// Puts the state of a backup into a prepared folder without a state. A crash leaves the whole state
// there or none. Errors: those of CheckBackup; kAlreadyExists: the folder has a state;
// kUnavailable: the system's reason.
Status RestoreState(const std::string& path, const std::string& backup);

// Whether the folder has the keys of a cluster, but no state or an empty file of state, so that the
// cluster would begin empty. PrepareDataDirectory warns of this, unless `reset` is set.
bool HasKeysAlone(const std::string& path);

// The working directory of the jobs' programs: beside the data directory, not inside it.
std::string JobsDirectory(const std::string& data_directory);

}  // namespace berth::program

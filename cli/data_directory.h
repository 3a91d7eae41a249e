// cli/data_directory.h — the folder that holds a local cluster: its state, its keys, its logs.
//
// Nobody but its owner reads it: folders 0700, files 0600. A folder or file that belongs to another
// user, or is a symbolic link, is refused: somebody has laid it there for us. A folder with other
// things in it is refused too, before its mode is changed.
#pragma once

#include <string>

#include "base/result.h"

namespace berth::cli {

// Makes it, or takes the one that is there. With `reset` it is empty of a cluster after.
// Errors: kInvalid (whose it is, what it is), kUnavailable (the system's reason); both name the
// path and the way out.
Status PrepareDataDirectory(const std::string& path, bool reset);

// Where programs of jobs work: beside the data, not inside of it.
std::string JobsDirectory(const std::string& data_directory);

}  // namespace berth::cli

// net/file_limit.h — the process's soft limit on open files: each connection is a file, and shells
// start programs with 1024.
#pragma once

#include "base/result.h"

namespace berth::net {

// Raises the soft limit to 65,536, or to the hard limit where that is less. kUnavailable: the limit
// stays as it is.
Status RaiseFileLimit();

}  // namespace berth::net

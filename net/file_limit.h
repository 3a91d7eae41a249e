// net/file_limit.h — raises the process's soft limit on open files: each connection is a file, and
// shells start programs with a limit of 1024.
#pragma once

#include "base/result.h"

namespace berth::net {

// Raises the soft limit to 65,536, or to the hard limit where that is lower. kUnavailable: the
// limit did not change.
Status RaiseFileLimit();

}  // namespace berth::net

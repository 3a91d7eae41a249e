// local/apiserver/store/file_lock.h — ensures that one process at a time uses a database.
//
// The kernel drops the lock when the process ends, also after kill -9: no stale locks. Children
// that the process was forking may hold it a moment longer: Acquire waits two seconds at most.
// Errors: kUnavailable, naming the file and, where known, the process that holds it.
#pragma once

#include <string>

#include "base/result.h"

namespace berth::local {

class FileLock {
 public:
  // Creates the file if it does not exist; the file is never removed.
  static Result<FileLock> Acquire(const std::string& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace berth::local

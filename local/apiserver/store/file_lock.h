// local/apiserver/store/file_lock.h — one process at a time works with a database.
//
// The kernel drops the lock when the process ends, also after kill -9: no stale locks. Children
// that it was just forking may hold it a moment longer; they are waited for, two seconds at most.
// Errors: kUnavailable, naming the file and, where known, the process that holds it.
#pragma once

#include <string>

#include "base/result.h"

namespace berth::local {

class FileLock {
 public:
  // Creates the file where it does not exist; it stays there afterwards.
  static Result<FileLock> Acquire(const std::string& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace berth::local

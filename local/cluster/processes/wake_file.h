// local/cluster/processes/wake_file.h — wakes a thread that waits in poll(2): an eventfd.
//
// Threads: Wake: any; the rest: the thread that waits. Errors: kUnavailable without file
// descriptors.
#pragma once

#include "base/result.h"

namespace berth::local::cluster {

class WakeFile {
 public:
  static Result<WakeFile> Make();
  WakeFile(WakeFile&& other) noexcept;
  WakeFile& operator=(WakeFile&&) = delete;
  ~WakeFile();

  void Wake() const;
  // Poll it for POLLIN (poll(2)): it is readable after Wake, until Clear.
  int file() const { return file_; }
  void Clear() const;

 private:
  explicit WakeFile(int file) : file_(file) {}
  int file_;
};

}  // namespace berth::local::cluster

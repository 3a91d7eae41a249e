// local/cluster/processes/process_place.h — the namespaces and the root folder of a running
// process, for another program that is executed there.
//
// Threads: none.
#pragma once

#include <sys/types.h>

#include "base/result.h"

namespace berth::local::cluster {

class ProcessPlace {
 public:
  // kNotFound: the process has ended.
  static Result<ProcessPlace> Of(pid_t process);
  ProcessPlace(ProcessPlace&& other) noexcept;
  ProcessPlace& operator=(ProcessPlace&& other) noexcept;
  ~ProcessPlace();

  // Whether the process has a user namespace of its own.
  bool has_user() const { return user_ >= 0; }
  // Moves the calling process there. For a child between clone and exec: system calls only.
  bool Enter() const;

 private:
  ProcessPlace() = default;
  // Open files of the namespaces and of the root; −1: the process shares this process' one.
  int user_ = -1;
  int mount_ = -1;
  int host_name_ = -1;
  int root_ = -1;
};

}  // namespace berth::local::cluster

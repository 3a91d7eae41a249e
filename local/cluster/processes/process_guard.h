// local/cluster/processes/process_guard.h — a guard process that kills this process' children at
// its end.
//
// Internal to process_host.cc. After its fork the guard uses system calls and static memory only:
// locks of the C library may be held by threads that the fork did not copy.
#pragma once

#include <string>

#include <sys/types.h>

#include "base/result.h"

namespace berth::local::cluster {

class ProcessGuard {
 public:
  static Result<ProcessGuard> Start(const std::string& mark);
  ProcessGuard(ProcessGuard&& other) noexcept;
  ProcessGuard& operator=(ProcessGuard&&) = delete;
  ~ProcessGuard();  // ends the guard, and waits for it

  // Adds `group` and the processes at `place` (OpenPlace; −1: none) to those that the guard kills,
  // or removes both. Never blocks for long, never fails: without a guard the other two protections
  // of process_host.h remain.
  void Watch(pid_t group, int place);
  void Forget(pid_t group);

 private:
  ProcessGuard(int socket, pid_t pid) : socket_(socket), pid_(pid) {}
  void Send(int operation, pid_t group, int place);
  int socket_;
  pid_t pid_;
};

// Opens a file that stands for the mount namespace of this process. All descendants are in this
// namespace unless they make one themselves, whatever group, session and environment they choose.
// While the file is open, no other namespace gets its number. System calls only.
int OpenPlace();
// SIGKILLs every process at the place. Returns their number. System calls only.
int KillAt(int place);

// SIGKILLs every other process with `BERTH_MARK=mark` in its environment. System calls only.
int KillMarked(const char* mark);

}  // namespace berth::local::cluster

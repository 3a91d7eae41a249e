// local/cluster/process_guard.h — a guard process that kills this process' children at its end.
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

  // Adds `group` to the groups that the guard kills, or removes it. Never blocks for long, never
  // fails: without a guard the other two protections of process_host.h remain.
  void Watch(pid_t group);
  void Forget(pid_t group);

 private:
  ProcessGuard(int socket, pid_t pid) : socket_(socket), pid_(pid) {}
  void Send(int operation, pid_t group);
  int socket_;
  pid_t pid_;
};

// SIGKILLs every other process with `BERTH_MARK=mark` in its environment. System calls only.
int KillMarked(const char* mark);

}  // namespace berth::local::cluster

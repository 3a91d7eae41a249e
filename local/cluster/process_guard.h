// local/cluster/process_guard.h — the small process that ends our children when we cannot.
//
// Internal to process_host.cc. After its fork the guard uses system calls and static memory only:
// the locks of the C library may be held by threads that do not exist in it.
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
  ~ProcessGuard();  // lets the guard end, and waits for it

  // From now on the guard kills `group`, or not any more. Never blocks for long, never fails: a
  // guard that somebody killed leaves us with the other two nets.
  void Watch(pid_t group);
  void Forget(pid_t group);

 private:
  ProcessGuard(int socket, pid_t pid) : socket_(socket), pid_(pid) {}
  void Send(int operation, pid_t group);
  int socket_;
  pid_t pid_;
};

// SIGKILL to every process whose environment has `BERTH_MARK=mark`, but us. System calls only.
int KillMarked(const char* mark);

}  // namespace berth::local::cluster

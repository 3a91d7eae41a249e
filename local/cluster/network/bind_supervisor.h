// local/cluster/network/bind_supervisor.h — makes programs of a pod listen on the pod's address
// when they ask for all addresses of the machine or for localhost, and lets them find each other at
// localhost.
//
//     program: bind(0.0.0.0:8786) ─▶ kernel (seccomp)
//         ─▶ supervisor: bind(127.77.0.5:8786) ─▶ answer
//     program of the same pod: connect(127.0.0.1:8786) ─▶ kernel (seccomp)
//         ─▶ supervisor: changes the program's copy of the address
//         ─▶ kernel: connect(127.77.0.5:8786)
//
// A port that a program has bound at the pod's address is bound at localhost a second time: at an
// address of the pod's own (kLocalhostBit), to which connections to localhost lead then.
//
// A socket of UDP that is connected to a place outside of the machine has the pod's address as its
// own, for a program that asks the route for it (getsockname).
//
// Two pods may use one port, as on a cluster. Concerned are TCP and UDP sockets and ports other
// than 0: binds to all addresses, and of TCP to 127.0.0.1 and ::1; connections to these four
// addresses at ports that a program of the pod has bound this way. Every other call is executed
// unchanged, so that localhost also leads to the machine's other programs. The filter looks at the
// number of the system call alone, so that the kernel answers all other calls from its cache.
//
// Threads: Add may be called from any thread. Linux 5.11 and later.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace berth::local::cluster {

class BindSupervisor {
 public:
  static Result<std::unique_ptr<BindSupervisor>> Start();
  ~BindSupervisor();
  BindSupervisor(const BindSupervisor&) = delete;
  BindSupervisor& operator=(const BindSupervisor&) = delete;

  // `listener` comes from InstallBindFilter, and belongs to this object from now on; it ends with
  // the program and its descendants. `address`: an IPv4 address, the pod's.
  void Add(int listener, const std::string& address);

 private:
  class Impl;
  explicit BindSupervisor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Makes the calling process, and the programs that it executes, ask a listener before each bind,
// connect and getsockname. Returns the listener, or -1 and errno. System calls only.
int InstallBindFilter();

// Passes a file through a socket to another process; system calls only.
bool SendFile(int socket, int file);
int ReceiveFile(int socket);  // -1: none

}  // namespace berth::local::cluster

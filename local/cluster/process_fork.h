// local/cluster/process_fork.h — forks a child behind a gate, executes it, and reports exec errors.
//
// Internal to process_host.cc, and the only file of the project that calls fork and exec for
// programs of users.
#pragma once

#include <string>

#include <sys/types.h>

#include "base/result.h"
#include "local/cluster/process_host.h"

namespace berth::local::cluster {

// A child in a process group of its own that waits for the gate to open; if this process ends
// first, the child ends too, without having executed its program.
class ForkedProcess {
 public:
  ForkedProcess(pid_t pid, int gate, int errors) : pid_(pid), gate_(gate), errors_(errors) {}
  ForkedProcess(ForkedProcess&& other) noexcept;
  ForkedProcess& operator=(ForkedProcess&&) = delete;
  ~ForkedProcess();

  pid_t pid() const { return pid_; }
  // Lets the child execute its program. kInvalid with the system's reason if exec failed.
  Status OpenGate();
  // Kills and reaps the child.
  void Abandon();

 private:
  pid_t pid_;
  int gate_;
  int errors_;
};

// Call on the thread that outlives the child. Errors: kInvalid: no such program; kUnavailable: no
// processes or file descriptors. `output` becomes the child's stdout and stderr; the caller closes
// it.
Result<ForkedProcess> ForkBehindGate(const ProcessSpec& spec, int output);

// Writes "pid start-time" atomically; the start time distinguishes the process from a later one
// with the same number.
Status WriteRecord(const std::string& path, pid_t pid);

}  // namespace berth::local::cluster

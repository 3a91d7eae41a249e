// local/cluster/process_fork.h — fork, a gate, exec, and the word of the child on how it went.
//
// Internal to process_host.cc, and the only file of the project that calls fork and exec for
// programs of users.
#pragma once

#include <string>

#include <sys/types.h>

#include "base/result.h"
#include "local/cluster/process_host.h"

namespace berth::local::cluster {

// A child that waits, in a process group of its own, for the gate to open; if we end before, it
// ends too, without having run anything.
class ForkedProcess {
 public:
  ForkedProcess(pid_t pid, int gate, int errors) : pid_(pid), gate_(gate), errors_(errors) {}
  ForkedProcess(ForkedProcess&& other) noexcept;
  ForkedProcess& operator=(ForkedProcess&&) = delete;
  ~ForkedProcess();

  pid_t pid() const { return pid_; }
  // Lets it execute its program. kInvalid with the system's reason if that failed.
  Status OpenGate();
  // Kills and reaps it.
  void Abandon();

 private:
  pid_t pid_;
  int gate_;
  int errors_;
};

// From the thread that outlives the child. Errors: kInvalid if there is no such program,
// kUnavailable if there are no processes or files to be had. `output` becomes its stdout and
// stderr, and stays the caller's to close.
Result<ForkedProcess> ForkBehindGate(const ProcessSpec& spec, int output);

// "pid start-time", written beside and renamed; the start time tells a process from a later one
// with the same number.
Status WriteRecord(const std::string& path, pid_t pid);

}  // namespace berth::local::cluster

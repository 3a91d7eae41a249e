// tests/bench/support/process.h — runs the measured program in a process of its own, so that its
// processor time and memory exclude those of its client.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace berth::bench {

// User and system time of a running process so far, in seconds; 0 where it is gone.
double CpuSeconds(pid_t process);
double OwnCpuSeconds();
// What one question to OwnCpuSeconds takes, in seconds.
double OwnClockTakes();
// Resident size in MB.
double ResidentMegabytes(pid_t process);
double PeakResidentMegabytes(pid_t process);
// Calls of fsync and fdatasync are not counted by the kernel; bytes sent to the disk are.
double WrittenMegabytes(pid_t process);

// A folder that goes with its owner.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A child process. It is asked to end with SIGTERM, and waited for.
class Child {
 public:
  // Runs `body` in a fork of this process, which must have no other threads yet. What it returns
  // is the exit status.
  static Child Fork(const std::function<int()>& body);
  // Output goes to `output_path`. Exits the program where it cannot be started.
  static Child Run(const std::vector<std::string>& command, const std::string& output_path);

  explicit Child(pid_t process) : process_(process) {}
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t process() const { return process_; }
  bool IsRunning();
  // Exit status; 128 + signal where a signal ended it.
  int Stop();
  int Wait();

 private:
  pid_t process_;
};

}  // namespace berth::bench

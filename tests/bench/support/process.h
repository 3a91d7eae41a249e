// tests/bench/support/process.h — runs the measured program in a process of its own, so that its
// processor time and memory exclude those of its client.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace berth::bench {

// The user and system time of a process so far, in seconds; 0: the process has ended.
double CpuSeconds(pid_t process);
double OwnCpuSeconds();
// The cost of one call of OwnCpuSeconds, in seconds.
double OwnClockTakes();
// The resident size in MB.
double ResidentMegabytes(pid_t process);
double PeakResidentMegabytes(pid_t process);
// The MB sent to the disk. The kernel counts these bytes, but no calls of fsync.
double WrittenMegabytes(pid_t process);

// A folder that the destructor removes.
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

// A child process. The destructor sends SIGTERM and waits for its end.
class Child {
 public:
  // Runs `body` in a fork of this process, which must have no other threads yet. Its result is
  // the exit status.
  static Child Fork(const std::function<int()>& body);
  // Output goes to `output_path`. Exits the program if the command cannot be started.
  static Child Run(const std::vector<std::string>& command, const std::string& output_path);

  explicit Child(pid_t process) : process_(process) {}
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t process() const { return process_; }
  bool IsRunning();
  // Ends the child; its exit status, or 128 + the signal that ended it.
  int Stop();
  int Wait();

 private:
  pid_t process_;
};

}  // namespace berth::bench

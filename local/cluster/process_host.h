// local/cluster/process_host.h — child processes that never outlive us.
//
//     Spawn ──▶ keeper thread: fork ─▶ record ─▶ gate opens ─▶ exec      exit ─▶ on_exit
//                  │ knows every process group                             (keeper thread)
//                  └──▶ guard process: when our end of its socket closes, however we ended, it
//                       kills every group it knows and whoever carries our mark
//
// Three nets hold a child: PR_SET_PDEATHSIG on itself (the keeper thread forks, and outlives its
// children), the guard for what the child started, and a sweep at the next start for whatever got
// away. The program is executed only once its record is written, so that
// a run without a record never happened.
//
// Threads: Spawn and Signal may be called from any thread. Linux only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/clock.h"
#include "base/result.h"

namespace berth::local::cluster {

// As whom a program runs; the groups include the first one.
struct ProcessUser {
  std::string name;
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;
};

struct ProcessSpec {
  std::vector<std::string> argv;       // argv[0]: a path, or a name to be found in PATH
  std::vector<std::string> env;        // "NAME=value"; the mark is added
  std::string working_folder;          // must exist
  std::string output_path;             // gets stdout and stderr, appended
  std::int64_t most_output_bytes = 0;  // the newest are kept (log_pump.h); 0: all
  std::optional<ProcessUser> user;     // nullopt: ours
  std::string record_path;             // names the process while it lives; its folder must exist
};

struct ProcessExit {
  int exit_code = 0;  // 128 + signal if one ended it
  int signal = 0;     // 0: it ended by itself
};

using ProcessId = std::int64_t;  // of this host; never used twice

// What executors need of it; tests in virtual time have their own.
class ProcessRunner {
 public:
  using OnExit = std::function<void(ProcessExit)>;
  virtual ~ProcessRunner() = default;
  // Returns once the program is executed. `on_exit` runs exactly once, on any thread, and must be
  // quick. Errors: kInvalid if the program cannot be executed, kUnavailable if we cannot fork.
  virtual Result<ProcessId> Spawn(const ProcessSpec& spec, OnExit on_exit) = 0;
  // To the whole process group; nothing happens if it has ended.
  virtual void Signal(ProcessId id, int signal) = 0;
};

class ProcessHost final : public ProcessRunner {
 public:
  // `mark` is unique to the data folder, and does not name it; children carry it in BERTH_MARK.
  // Starts the guard.
  static Result<std::unique_ptr<ProcessHost>> Start(const std::string& mark);
  // SIGTERM to all, SIGKILL to what is left after two seconds.
  ~ProcessHost() override;

  Result<ProcessId> Spawn(const ProcessSpec& spec, OnExit on_exit) override;
  void Signal(ProcessId id, int signal) override;

 private:
  class Impl;
  explicit ProcessHost(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Kills every process that carries `mark`: what an earlier life left behind. Returns how many.
int SweepProcesses(const std::string& mark);
// Kills the process that `record_path` names, if it is still the same one. Whether it was.
bool SweepRecord(const std::string& record_path);

}  // namespace berth::local::cluster

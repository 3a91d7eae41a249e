// local/cluster/processes/process_host.h — child processes that never outlive this process.
//
//     Spawn ──▶ keeper thread: clone; the child: record ─▶ exec          exit ─▶ on_exit
//                  │ knows every process group                             (keeper thread)
//                  └──▶ guard process: when this process ends, in whatever way, its socket closes;
//                       the guard kills every group it knows and every process with the mark
//
// A child with network or mounts has a mount namespace of its own, by which its descendants are
// found at its end and killed, daemons too. Three protections end a child: PR_SET_PDEATHSIG of the
// child (the keeper thread makes the children, and outlives them), the guard for descendants of the
// child, and a sweep at the next start for processes that escaped. A program is executed only after
// its record is written, so that no program runs without a record.
//
// Threads: Spawn and Signal may be called from any thread. Linux only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/clock.h"
#include "base/result.h"
#include "local/cluster/processes/mount_steps.h"

namespace berth::local::cluster {

// The user of a program; the groups include the primary one.
struct ProcessUser {
  std::string name;
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;
};

// The part of the cluster's network that a program of a pod sees.
struct ProcessNetwork {
  std::string hosts_path;  // stands at /etc/hosts
  // An address of IPv4 for servers that ask for all addresses (bind_supervisor.h); empty: servers
  // have the machine's.
  std::string address;
  std::string host_name;  // empty: the machine's
};

// Ends of pipes or of a terminal that become the standard files of a program; the caller closes
// them after Spawn. `error` may be `output`.
struct ProcessFiles {
  int input = -1;
  int output = -1;
  int error = -1;
  bool is_terminal = false;  // `input` becomes the controlling terminal
};

using ProcessId = std::int64_t;  // names a process of one host; never reused

struct ProcessSpec {
  std::vector<std::string> argv;       // argv[0]: a path, or a name searched in PATH
  std::vector<std::string> env;        // "NAME=value"; the host adds the mark
  std::string working_folder;          // must exist
  std::string output_path;             // stdout and stderr are appended
  std::int64_t most_output_bytes = 0;  // newest bytes to keep (log_pump.h); 0: all
  std::optional<ProcessUser> user;     // nullopt: this process' user
  std::string record_path;             // identifies the running process; its folder must exist
  // If this machine does not allow it, programs run without it, and the variable BERTH_NETWORK says
  // so.
  std::optional<ProcessNetwork> network;
  // If this machine does not allow mounts, programs run without them, and the variable
  // BERTH_VOLUMES names volumes_folder.
  std::vector<MountStep> mounts;
  std::string volumes_folder;
  std::string temporary_folder;  // if `mounts` have no effect, TMPDIR names this folder; "": none
  // Used in place of the log at output_path and of an empty input.
  std::optional<ProcessFiles> files;
  // A terminal or a pipe as standard input, whose output goes to the log. ProcessRunner::Input
  // gives the other end.
  bool keeps_input = false;
  bool is_terminal = false;  // independent of keeps_input
  // A running process whose namespaces and root the program shares; `mounts` has no effect then.
  std::optional<ProcessId> beside;
  std::string
      start_folder;  // in the view of `mounts`, in place of working_folder; "": working_folder
  // The mounts make the root of an image. Spawn fails if this machine does not allow it.
  bool has_own_root = false;
  std::string program;  // executed in place of argv[0], in the view of `mounts`; "": argv[0]
  // The user and group that the program has in its own view, if it has a user namespace.
  std::optional<std::pair<uid_t, gid_t>> seen_as;
};

struct ProcessExit {
  int exit_code = 0;  // 128 + signal after a signal
  int signal = 0;     // 0: no signal
};

// The interface for executors; tests in virtual time implement it too.
class ProcessRunner {
 public:
  using OnExit = std::function<void(ProcessExit)>;
  virtual ~ProcessRunner() = default;
  // Returns once the program is executed. `on_exit` runs exactly once, on any thread, and must be
  // quick. Errors: kInvalid: the program cannot be executed; kUnavailable: no process, no record.
  virtual Result<ProcessId> Spawn(const ProcessSpec& spec, OnExit on_exit) = 0;
  // Signals the whole process group; no effect if it has ended.
  virtual void Signal(ProcessId id, int signal) = 0;
  // Gives `on_output` what the process writes to its log from now on, until the last copy of the
  // returned guard is gone. `on_output` must be quick. Null: no such process.
  using OnText = std::function<void(std::string_view)>;
  virtual std::shared_ptr<void> Tap(ProcessId /*id*/, OnText /*on_output*/) { return nullptr; }
  // Returns a new file descriptor, which the caller closes: the terminal, if the process has one,
  // else the writing end of the input that keeps_input made. −1: none.
  virtual int Input(ProcessId /*id*/) { return -1; }
  // Closes this host's end of the input. The program reads the end of its input once every copy is
  // closed.
  virtual void CloseInput(ProcessId /*id*/) {}
  // The system's number of the process; 0: it has ended.
  virtual int SystemId(ProcessId /*id*/) { return 0; }
};

class ProcessHost final : public ProcessRunner {
 public:
  // `mark` identifies the data folder without naming it; children have it in BERTH_MARK. Starts the
  // guard.
  static Result<std::unique_ptr<ProcessHost>> Start(const std::string& mark);
  // Sends SIGTERM to all processes, and SIGKILL to the remaining ones after two seconds.
  ~ProcessHost() override;

  Result<ProcessId> Spawn(const ProcessSpec& spec, OnExit on_exit) override;
  void Signal(ProcessId id, int signal) override;
  std::shared_ptr<void> Tap(ProcessId id, OnText on_output) override;
  int Input(ProcessId id) override;
  void CloseInput(ProcessId id) override;
  int SystemId(ProcessId id) override;

 private:
  class Impl;
  explicit ProcessHost(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Kills every process with `mark`, left by an earlier run. Returns their number.
int SweepProcesses(const std::string& mark);
// Kills the process of a record, unless its number was reused; returns whether it killed one.
bool SweepRecord(const std::string& record_path);

}  // namespace berth::local::cluster

// scenarios/world/sim_runner.h — programs of containers in virtual time.
//
//     /bin/sleep N        ends well after N seconds
//     /sim/run 30s exit=3 ends after 30 s with exit code 3; without a time it ends at once
//     /sim/run 1h stops=9s  needs nine seconds to stop, as a program that saves its work
//
// SIGTERM and SIGKILL end a program with 128 + signal, SIGKILL at once.
//
// Threads: one. The executor must outlive it.
#pragma once

#include <map>
#include <string>

#include "base/executor.h"
#include "local/cluster/processes/process_host.h"

namespace berth::sim {

inline constexpr char kSimProgram[] = "/sim/run";
inline constexpr char kSimImage[] = "sim/run";

class SimRunner final : public local::cluster::ProcessRunner {
 public:
  explicit SimRunner(Executor& executor) : executor_(executor) {}

  Result<local::cluster::ProcessId> Spawn(const local::cluster::ProcessSpec& spec,
                                          OnExit on_exit) override;
  void Signal(local::cluster::ProcessId id, int signal) override;

  std::size_t running_count() const { return running_.size(); }
  int spawned_count() const { return spawned_count_; }

 private:
  struct Program {
    OnExit on_exit;
    Duration stops{};  // the time from SIGTERM to the end of the program
  };

  void End(local::cluster::ProcessId id, local::cluster::ProcessExit exit);

  Executor& executor_;
  std::map<local::cluster::ProcessId, Program> running_;
  local::cluster::ProcessId next_id_ = 1;
  int spawned_count_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::sim

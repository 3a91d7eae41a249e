// tests/local/support/fake_runner.h — processes in virtual time: /bin/sleep N ends well after N
// seconds, everything else at once; a signal ends it.
#pragma once

#include <cstdlib>
#include <map>
#include <set>

#include "base/executor.h"
#include "local/cluster/processes/process_host.h"

namespace berth::local::test {

class FakeRunner final : public cluster::ProcessRunner {
 public:
  explicit FakeRunner(Executor& executor) : executor_(executor) {}

  Result<cluster::ProcessId> Spawn(const cluster::ProcessSpec& spec, OnExit on_exit) override {
    const cluster::ProcessId id = next_id_++;
    running_[id] = std::move(on_exit);
    ++spawned_count_;
    const double seconds = spec.argv.size() > 1 && spec.argv[0] == "/bin/sleep"
                               ? std::strtod(spec.argv[1].c_str(), nullptr)
                               : 0;
    executor_.PostAfter(
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)),
        [this, id] { End(id, {}); });
    return id;
  }

  void Signal(cluster::ProcessId id, int signal) override { End(id, {128 + signal, signal}); }

  std::size_t running_count() const { return running_.size(); }
  int spawned_count() const { return spawned_count_; }

 private:
  void End(cluster::ProcessId id, cluster::ProcessExit exit) {
    const auto found = running_.find(id);
    if (found == running_.end()) return;
    const OnExit on_exit = std::move(found->second);
    running_.erase(found);
    on_exit(exit);
  }

  Executor& executor_;
  std::map<cluster::ProcessId, OnExit> running_;
  cluster::ProcessId next_id_ = 1;
  int spawned_count_ = 0;
};

}  // namespace berth::local::test

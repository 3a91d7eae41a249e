// admission/policies/restart_costs.h — what stops of jobs that claim checkpoints (api/checkpoint.h)
// really cost.
//
// A job that is stopped and then succeeds has run for longer in all than a job like it that is
// never stopped. The difference, at most the time before its last start, is what its stops cost.
// Jobs are alike if they claim checkpoints and have equal namespaces, LocalQueues, images and pods.
//
// Threads: one. Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "api/workload.h"
#include "base/clock.h"

namespace berth::admission {

// What each stop of a kind of jobs costs.
struct StopCost {
  Duration lost{};         // the median of the restarted jobs
  std::int64_t stops = 0;  // that were measured
  friend bool operator==(const StopCost&, const StopCost&) = default;
};

class RestartCosts {
 public:
  static constexpr std::size_t kMostRuns = 200;  // the last ones of a kind
  static constexpr std::size_t kFewestWhole = 5;
  static constexpr std::size_t kFewestRestarted = 3;
  static constexpr std::size_t kMostKinds = 20'000;  // further kinds are not measured

  // Equal for jobs that are alike; 0: the job claims no checkpoints.
  static std::uint64_t KindOf(const api::Workload& workload);

  // The workload has finished. Has no effect for jobs that claim no checkpoints or failed.
  void NoteEnd(const api::Workload& finished);
  // nullopt: too few jobs of the kind have ended, with stops or without, or the kind is 0.
  std::optional<StopCost> Of(std::uint64_t kind) const;

 private:
  struct Restarted {
    Duration before{};  // ran before the last start
    Duration in_all{};
    std::int64_t stops = 1;
  };
  struct Kind {
    std::deque<Duration> whole;  // runs without a stop
    std::deque<Restarted> restarted;
    std::optional<StopCost> cost;
  };
  static std::optional<StopCost> CostOf(const Kind& kind);

  std::map<std::uint64_t, Kind> kinds_;
};

}  // namespace berth::admission

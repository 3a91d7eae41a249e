// ledger/stop_costs.h — what stops of jobs with checkpoints cost, by their claims and by measure.
//
// A job that claims checkpoints (api/checkpoint.h), is stopped while it runs and then succeeds has
// run for longer in all than a job like it that is never stopped. The difference, at most the time
// before its last start, is what its stops cost. Jobs are alike if they claim checkpoints and have
// equal namespaces, LocalQueues, images and resources; the median of their last runs without a stop
// is the length of a whole run.
//
// Threads: one. Errors: none.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "ledger/records.h"

namespace berth::ledger {

struct StopCosts {
  std::int64_t stops = 0;       // those that were measured
  Seconds claimed = 0;          // the most that they cost by the claims
  Seconds lost = 0;             // what they cost
  std::int64_t unmeasured = 0;  // stops of jobs that are like too few others
  friend bool operator==(const StopCosts&, const StopCosts&) = default;
};

class StopMeasure {
 public:
  static constexpr std::size_t kMostRuns = 200;  // the last ones of jobs that are alike
  static constexpr std::size_t kFewestRuns = 5;

  // Attempts of a Workload must come in the order of their numbers. `line` is the key under which
  // its stops are summed; the line of its last attempt counts.
  void Add(const AttemptRecord& attempt, const std::string& line);
  // By line. Lines without such stops are left out.
  std::map<std::string, StopCosts> Costs() const;

 private:
  // The attempts so far of a job that claims checkpoints.
  struct Course {
    std::int64_t attempts = 0;
    std::int64_t stops = 0;
    Seconds ran = 0;
    Seconds before = 0;  // the part of `ran` before the last start
    Seconds claimed = 0;
  };
  struct Run {
    Seconds ended = 0;
    Seconds ran = 0;
    friend auto operator<=>(const Run&, const Run&) = default;
  };
  struct Restarted {
    std::string line;
    std::string kind;
    Course course;
  };

  std::map<std::string, Course> courses_;  // by uid, of jobs that have not ended
  std::vector<Restarted> restarted_;
  std::map<std::string, std::deque<Run>> whole_runs_;  // by kind of job
};

}  // namespace berth::ledger

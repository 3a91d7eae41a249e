// integrations/controller/stop_pace.h — limits how often Berth stops one job that another
// controller starts.
//
// Another controller may start a job as often as Berth stops it: the operator of a parent that
// cannot be stopped at present, for one. After kBurst stops the next one waits, twice as long each
// time.
//
// Threads: one, that of the reconciler. Errors: none.
#pragma once

#include <map>

#include "api/object_meta.h"
#include "base/clock.h"

namespace berth::integrations {

class StopPace {
 public:
  static constexpr int kBurst = 3;
  static constexpr Duration kFirstWait = std::chrono::seconds(1);
  static constexpr Duration kLongestWait = std::chrono::seconds(32);
  static constexpr Duration kForgotten = std::chrono::minutes(2);  // after the last stop

  // The time until `job` may be stopped; zero: now, and the stop counts. Jobs are told apart by
  // name, not by uid, because an operator may create a job anew.
  Duration Take(const api::ObjectKey& job, SteadyTime now);
  // Berth starts the job.
  void Forget(const api::ObjectKey& job) { stops_.erase(job); }

 private:
  struct Stops {
    int count = 0;
    SteadyTime last{};
  };
  std::map<api::ObjectKey, Stops> stops_;  // stops within the last kForgotten, and some older ones
  SteadyTime sweep_at_{};                  // when older ones are dropped
};

}  // namespace berth::integrations

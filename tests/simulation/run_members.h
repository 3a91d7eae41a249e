// tests/simulation/run_members.h — members of run models, for tests of forecasts.
//
// Threads: one. Errors: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "simulation/run_model.h"

namespace berth::simulation {

inline constexpr std::int64_t kModelNow = 1'800'000'000;  // Friday 2027-01-15, 08:00 UTC

inline constexpr std::int64_t kHourSeconds = 3600;
inline constexpr std::int64_t kDaySeconds = 24 * kHourSeconds;

inline RunKey KeyOf(const std::string& name, std::int64_t cpus = 1, const std::string& user = "") {
  return {.queue = "team/a",
          .kind = "Job",
          .name = name,
          .user = user,
          .requests = {{"cpu", cpus * 1000}}};
}

// Members with uids "m0", "m1", …; times are ages: seconds before kModelNow.
class RunMemberList {
 public:
  std::size_t Ended(const RunKey& key, std::int64_t age, std::int64_t seconds) {
    return Add(key, age, age - seconds, seconds, RunState::kEnded);
  }
  std::size_t Stopped(const RunKey& key, std::int64_t age, std::int64_t seconds) {
    return Add(key, age, age - seconds, seconds, RunState::kStopped);
  }
  std::size_t Runs(const RunKey& key, std::int64_t age, std::int64_t seconds) {
    return Add(key, age, 0, seconds, RunState::kRuns);
  }
  std::size_t Waits(const RunKey& key, std::int64_t age) {
    return Add(key, age, 0, 0, RunState::kWaits);
  }
  RunModel Model() const { return {members_, kModelNow}; }

 private:
  std::size_t Add(const RunKey& key, std::int64_t age, std::int64_t until_age, std::int64_t seconds,
                  RunState state) {
    members_.push_back({.uid = "m" + std::to_string(members_.size()),
                        .key = key,
                        .submitted = kModelNow - age,
                        .until = kModelNow - std::max<std::int64_t>(until_age, 0),
                        .seconds = seconds,
                        .state = state});
    return members_.size() - 1;
  }

  std::vector<RunMember> members_;
};

}  // namespace berth::simulation

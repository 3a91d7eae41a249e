// Goal: the last run is the time from the admission to the end, of Workloads that were admitted
// when they finished. Method: a table of both conditions.
#include "api/last_run.h"

#include <chrono>
#include <optional>

#include <gtest/gtest.h>

#include "api/reasons.h"

namespace berth::api {
namespace {

using std::chrono::seconds;

constexpr WallTime kStart{std::chrono::hours(500'000)};

TEST(LastRunTest, LastsFromTheAdmissionToTheEnd) {
  constexpr auto kTrue = ConditionStatus::kTrue;
  constexpr auto kFalse = ConditionStatus::kFalse;
  const struct {
    const char* name;
    std::optional<ConditionStatus> admitted;
    std::optional<ConditionStatus> finished;
    const char* reason;
    seconds after;
    std::optional<Duration> run;
  } rows[] = {{"succeeded", kTrue, kTrue, kSucceeded, seconds(90), seconds(90)},
              {"failed", kTrue, kTrue, kFailed, seconds(90), seconds(90)},
              {"ended at once", kTrue, kTrue, kSucceeded, seconds(0), seconds(0)},
              {"clocks differ", kTrue, kTrue, kSucceeded, seconds(-1), std::nullopt},
              {"runs", kTrue, std::nullopt, "", seconds(90), std::nullopt},
              {"has not finished", kTrue, kFalse, "", seconds(90), std::nullopt},
              {"was never admitted", std::nullopt, kTrue, kFailed, seconds(90), std::nullopt},
              {"lost its admission", kFalse, kTrue, kFailed, seconds(90), std::nullopt},
              {"waits", std::nullopt, std::nullopt, "", seconds(90), std::nullopt}};
  for (const auto& row : rows) {
    Workload workload;
    const auto add = [&](const char* type, std::optional<ConditionStatus> status,
                         const char* reason, WallTime at) {
      if (!status) return;
      workload.status.conditions.push_back(
          {.type = type, .status = *status, .reason = reason, .last_transition_time = at});
    };
    add(kAdmitted, row.admitted, kAdmitted, kStart);
    add(kFinished, row.finished, row.reason, kStart + row.after);
    EXPECT_EQ(LastRunOf(workload), row.run) << row.name;
  }
}

}  // namespace
}  // namespace berth::api

// Goal: `berth why` says what becomes of a deadline before, during and after the run. Method: rows.
#include "view/screens/deadline_line.h"

#include <gtest/gtest.h>

#include "api/codec/start_forecast.h"
#include "api/deadline.h"
#include "api/reasons.h"
#include "base/rfc3339.h"
#include "tests/view/view_builder.h"

namespace berth::view {
namespace {

using namespace std::chrono_literals;

class DeadlineTest : public ::testing::Test {
 protected:
  DeadlineTest() : workload_(MakeWorkload("default", "train", "q", 600)) {
    view_.now = ViewTime();
    SetDeadline(2h);
  }
  void SetDeadline(Duration from_now) {
    workload_.meta.annotations[api::kDeadlineAnnotation] = FormatTime(view_.now + from_now);
  }
  // What stands behind the time of the deadline.
  std::string Line() const {
    const std::string line = DeadlineLine(view_, workload_);
    const std::string start = "deadline " + workload_.meta.annotations.at(api::kDeadlineAnnotation);
    EXPECT_EQ(line.substr(0, start.size()), start);
    return line.size() < start.size() ? "" : line.substr(start.size());
  }
  void End(const char* reason, Duration ago) {
    workload_.status.conditions = {TrueCondition(api::kFinished, reason, "", view_.now - ago)};
  }

  ClusterView view_;
  api::Workload workload_;
};

TEST_F(DeadlineTest, LineShowsTheChanceOfAForecast) {
  EXPECT_EQ(Line(), ", in 120m");
  workload_.meta.annotations[api::kEtaAnnotation] =
      api::EncodeStartForecast({.at = view_.now - 3min, .in_time = 85});
  EXPECT_EQ(Line(), ", in 120m: kept in 85 of 100 futures (forecast of 3m ago)");
}

TEST_F(DeadlineTest, LineShowsTheLatestStartForTheDeclaredMaximum) {
  workload_.spec.maximum_execution_time_seconds = 3600;
  EXPECT_EQ(Line(), ", in 120m; the latest start for its maximum is " + FormatTime(view_.now + 1h));
  workload_.spec.maximum_execution_time_seconds = 3 * 3600;
  EXPECT_EQ(Line(), ", in 120m; in danger: the job may run for 3h");
}

TEST_F(DeadlineTest, LineComparesTheMaximumOfARunningJobWithTheDeadline) {
  workload_.status.conditions = {
      TrueCondition(api::kAdmitted, api::kAdmitted, "", view_.now - 30min)};
  workload_.spec.maximum_execution_time_seconds = 2 * 3600;
  EXPECT_EQ(Line(), ", in 120m; the job ends by then at the latest");
  workload_.spec.maximum_execution_time_seconds = 3 * 3600;
  EXPECT_EQ(Line(), ", in 120m; in danger: the job may run for longer");
}

TEST_F(DeadlineTest, LineShowsHowADeadlineEnded) {
  SetDeadline(-1h);
  EXPECT_EQ(Line(), ": missed 60m ago");
  End(api::kSucceeded, 2h);
  EXPECT_EQ(Line(), ": kept");
  End(api::kSucceeded, 30min);
  EXPECT_EQ(Line(), ": the job ended 30m after it");
  End("Failed", 2h);
  EXPECT_EQ(Line(), ": missed: the job failed");
}

TEST_F(DeadlineTest, JobWithoutAValidDeadlineHasNoLine) {
  workload_.meta.annotations[api::kDeadlineAnnotation] = "tomorrow";
  EXPECT_EQ(DeadlineLine(view_, workload_), "");
  workload_.meta.annotations.clear();
  EXPECT_EQ(DeadlineLine(view_, workload_), "");
}

}  // namespace
}  // namespace berth::view

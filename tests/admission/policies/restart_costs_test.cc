// Goal: the cost of a stop is measured by jobs that are alike, and only by these. Method: histories
// of finished jobs of which the answer is known.
#include "admission/policies/restart_costs.h"

#include <chrono>
#include <functional>

#include <gtest/gtest.h>

#include "api/checkpoint.h"
#include "api/reasons.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using std::chrono::minutes;

api::Workload Claiming(std::int32_t pods = 1) {
  api::Workload job = support::MakeJob("job", "q", pods, {{"gpu", 1}});
  job.meta.annotations[api::kCheckpointEveryAnnotation] = "1m";
  return job;
}

// The job after its end: it ran for `before` until its last start, and for `last` since then.
api::Workload Ended(minutes before, minutes last, std::int32_t stops) {
  api::Workload job = Claiming();
  const WallTime start{std::chrono::hours(500'000)};
  const auto since = [&](const char* type, const char* reason, WallTime at) {
    job.status.conditions.push_back({.type = type,
                                     .status = api::ConditionStatus::kTrue,
                                     .reason = reason,
                                     .last_transition_time = at});
  };
  since(api::kAdmitted, api::kAdmitted, start);
  since(api::kFinished, api::kSucceeded, start + last);
  job.status.accumulated_past_execution_time_seconds =
      static_cast<std::int32_t>(std::chrono::seconds(before).count());
  if (stops > 0) job.status.evictions = {{api::kPreempted, api::kInClusterQueue, stops}};
  return job;
}

class RestartCostsTest : public ::testing::Test {
 protected:
  void AddWhole(std::size_t count, minutes last = minutes(60)) {
    for (std::size_t i = 0; i < count; ++i) costs_.NoteEnd(Ended(minutes(0), last, 0));
  }
  std::optional<StopCost> Cost() const { return costs_.Of(RestartCosts::KindOf(Claiming())); }

  RestartCosts costs_;
};

TEST_F(RestartCostsTest, RestartedJobsThatBeginAnewLoseTheirEarlierRuns) {
  AddWhole(RestartCosts::kFewestWhole);
  costs_.NoteEnd(Ended(minutes(30), minutes(60), 1));
  costs_.NoteEnd(Ended(minutes(40), minutes(60), 2));
  EXPECT_EQ(Cost(), std::nullopt) << "two restarted jobs are too few";
  costs_.NoteEnd(Ended(minutes(50), minutes(60), 1));
  EXPECT_EQ(Cost(), (StopCost{minutes(30), 4}));
}

TEST_F(RestartCostsTest, RestartedJobsThatGoOnLoseNothing) {
  AddWhole(RestartCosts::kFewestWhole);
  for (int i = 0; i < 3; ++i) costs_.NoteEnd(Ended(minutes(40), minutes(20), 1));
  EXPECT_EQ(Cost(), (StopCost{minutes(0), 3}));
}

// A longer job than others, stopped at its begin.
TEST_F(RestartCostsTest, AStopCostsNoMoreThanWasRunBeforeIt) {
  AddWhole(RestartCosts::kFewestWhole);
  for (int i = 0; i < 3; ++i) costs_.NoteEnd(Ended(minutes(1), minutes(600), 1));
  EXPECT_EQ(Cost(), (StopCost{minutes(1), 3}));
}

TEST_F(RestartCostsTest, JobsThatDoNotCount) {
  struct Row {
    const char* name;
    std::function<void(api::Workload&)> change;
  };
  const Row rows[] = {
      {"no claim", [](api::Workload& job) { job.meta.annotations.clear(); }},
      {"failed", [](api::Workload& job) { job.status.conditions[1].reason = api::kFailed; }},
      {"another queue", [](api::Workload& job) { job.spec.queue_name = "other"; }},
      {"another namespace", [](api::Workload& job) { job.meta.namespace_name = "other"; }},
      {"other pods",
       [](api::Workload& job) { job.spec.pod_sets = api::Workload(Claiming(2)).spec.pod_sets; }},
      {"the time of earlier runs is unknown",
       [](api::Workload& job) { job.status.accumulated_past_execution_time_seconds = 0; }},
      {"evicted before it ran",
       [](api::Workload& job) { job.status.evictions[0].reason = api::kAdmissionCheckReason; }}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    costs_ = RestartCosts();
    AddWhole(RestartCosts::kFewestWhole);
    for (int i = 0; i < 5; ++i) {
      api::Workload job = Ended(minutes(30), minutes(60), 1);
      row.change(job);
      costs_.NoteEnd(job);
    }
    EXPECT_EQ(Cost(), std::nullopt);
  }
}

TEST_F(RestartCostsTest, OtherImagesAreAnotherKind) {
  api::Workload other = Claiming();
  api::PodSet pods = other.spec.pod_sets[0];
  pods.pod_template.spec.containers[0].image = "other:2";
  other.spec.pod_sets = std::vector<api::PodSet>{pods};
  EXPECT_NE(RestartCosts::KindOf(other), RestartCosts::KindOf(Claiming()));
  EXPECT_EQ(RestartCosts::KindOf(support::MakeJob("job", "q", 1, {{"gpu", 1}})), 0U);
}

TEST_F(RestartCostsTest, TheLastRunsCount) {
  AddWhole(RestartCosts::kMostRuns, minutes(10));
  for (int i = 0; i < 3; ++i) costs_.NoteEnd(Ended(minutes(60), minutes(60), 1));
  EXPECT_EQ(Cost()->lost, minutes(60));
  AddWhole(RestartCosts::kMostRuns, minutes(120));
  EXPECT_EQ(Cost()->lost, minutes(0));
}

}  // namespace
}  // namespace berth::admission

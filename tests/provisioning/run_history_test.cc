// Goal: the expected run of a job is that of its earlier runs, where the policy asks for it and the
// job says nothing. Method: tables of names and runs; the small world of provisioning checks.
#include "provisioning/run_history.h"

#include <gtest/gtest.h>

#include "provisioning/run_duration.h"
#include "provisioning/vetoes.h"
#include "tests/provisioning/world.h"

namespace berth::provisioning {
namespace {

using testing::World;

api::Workload FinishedRun(const std::string& job, std::int64_t run_seconds,
                          const char* reason = api::kSucceeded) {
  api::Workload workload;
  workload.meta.namespace_name = "default";
  workload.meta.name = "job-" + job;
  workload.meta.owner_references = {
      {.kind = "Job", .name = job, .uid = job + "-uid", .controller = true}};
  workload.spec.queue_name = "team";
  const WallTime start(std::chrono::seconds(1'700'000'000));
  workload.status.conditions = {
      {.type = api::kAdmitted,
       .status = api::ConditionStatus::kTrue,
       .last_transition_time = start},
      {.type = api::kFinished,
       .status = api::ConditionStatus::kTrue,
       .reason = reason,
       .last_transition_time = start + std::chrono::seconds(run_seconds)}};
  return workload;
}

TEST(RunHistoryTest, StemOfANameLeavesOutItsCounter) {
  const struct {
    const char* name;
    const char* stem;
  } rows[] = {{"train", "train"},
              {"train-3", "train"},
              {"train-20261120-3", "train"},
              {"nightly-29123456", "nightly"},
              {"train-x7k2p", "train"},
              {"train-large", "train-large"},
              {"train-v2", "train-v2"},
              {"3", "3"},
              {"-3", "-3"}};
  for (const auto& row : rows) EXPECT_EQ(RunStemOf(row.name), row.stem) << row.name;
}

TEST(RunHistoryTest, ExpectsTheLongestOfEnoughSuccessfulRuns) {
  RunHistory history;
  for (int at = 1; at <= 19; ++at) history.Add(FinishedRun("train-" + std::to_string(at), at));
  EXPECT_FALSE(history.Expected(FinishedRun("train-99", 0))) << "too few";
  history.Add(FinishedRun("train-0", 5000, "JobFailed"));
  EXPECT_FALSE(history.Expected(FinishedRun("train-99", 0))) << "a failure tells nothing";
  history.Add(FinishedRun("train-20", 20));
  EXPECT_EQ(history.Expected(FinishedRun("train-99", 0)), 20);
  EXPECT_FALSE(history.Expected(FinishedRun("other-99", 0)));
  for (int at = 0; at < 64; ++at) history.Add(FinishedRun("train-1" + std::to_string(at), 7));
  EXPECT_EQ(history.Expected(FinishedRun("train-99", 0)), 7) << "the last 64 count";
}

TEST(RunHistoryTest, TheOldestPlacesAreForgotten) {
  RunHistory history;
  const auto fill = [&history](const std::string& job) {
    for (std::size_t i = 0; i < RunHistory::kLeastRuns; ++i) history.Add(FinishedRun(job, 9));
  };
  fill("first");
  for (std::size_t at = 1; at <= RunHistory::kMostPlaces; ++at) {
    history.Add(FinishedRun("job" + std::to_string(at) + "x", 1));
  }
  EXPECT_FALSE(history.Expected(FinishedRun("first", 0)));
  fill("last");
  EXPECT_EQ(history.Expected(FinishedRun("last", 0)), 9);
}

TEST(RunHistoryTest, PolicyDecidesWhetherHistoryCounts) {
  using Source = api::ProvisioningRunDuration::Source;
  api::ProvisioningPolicy policy;
  api::Workload workload;
  EXPECT_FALSE(RunLimit(&policy, workload, std::nullopt, 300));
  policy.run_duration.emplace();
  EXPECT_FALSE(RunLimit(&policy, workload, std::nullopt, 300)) << "Job is the default";
  policy.run_duration->source = Source::kHistory;
  EXPECT_EQ(RunLimit(&policy, workload, std::nullopt, 300), 300);
  EXPECT_EQ(RunLimit(&policy, workload, 60, 300), 60) << "what the job says comes first";
  EXPECT_FALSE(RunLimit(&policy, workload, std::nullopt, std::nullopt));
  EXPECT_FALSE(RunLimit(nullptr, workload, std::nullopt, 300));
  workload.meta.annotations[std::string(api::kProvisioningParameterPrefix) + kMaxRunParameter] =
      "36000";
  EXPECT_FALSE(RunLimit(&policy, workload, std::nullopt, 300)) << "so does its parameter";
}

// Otherwise a budget would keep the first runs from ever being made.
TEST(RunHistoryTest, CostUsesTheMaximumRunWithoutHistory) {
  World world;
  world.policy.emplace();
  world.policy->run_duration.emplace().source = api::ProvisioningRunDuration::Source::kHistory;
  world.policy->run_duration->max_seconds = 7200;
  api::ProvisioningStep step{.name = "gpu", .flavor = "gpu"};
  step.price_per_hour = *api::Quantity::Parse("2");
  const VetoInput input{*world.policy,  world.config, world.workload,
                        &world.flavors, nullptr,      world.now};
  const auto cost = CostOf(step, input);
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->seconds, 7200);
}

TEST(RunHistoryTest, RequestedRunFollowsEarlierJobs) {
  World world;
  world.config.provisioning_class_name = api::kQueuedProvisioningClass;
  world.policy.emplace();
  world.policy->run_duration.emplace().source = api::ProvisioningRunDuration::Source::kHistory;
  world.past_run = 3600;
  world.Settle();
  ASSERT_EQ(world.requests.size(), 1U);
  // 3600 s with a margin of a fifth, ten minutes for the boot, and rounded up to five minutes.
  EXPECT_EQ(world.requests[0].parameters.at(kMaxRunParameter), "5100");
}

}  // namespace
}  // namespace berth::provisioning

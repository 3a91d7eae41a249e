// Goal: the forecast of a run follows the runs that are most like it, within what is declared, and
// what the run has lasted already. Method: histories made by hand, and the quantiles that follow.
#include "simulation/run_model.h"

#include <gtest/gtest.h>

#include "api/job_user.h"
#include "tests/simulation/run_members.h"
#include "tests/simulation/standing_cluster.h"

namespace berth::simulation {
namespace {

// `count` runs of `length` seconds, two hours apart: each a batch of its own, with a name of its
// own.
void AddRuns(RunMemberList& list, RunKey key, std::int64_t length, int count = 20) {
  const std::string stem = StemOf(key.name);
  for (int i = 0; i < count; ++i) {
    key.name = stem + "-" + std::to_string(1000 + i);
    list.Ended(key, kDaySeconds + 2 * kHourSeconds * i, length);
  }
}

RunKey Numbered(RunKey key, int number) {
  key.name = StemOf(key.name) + "-" + std::to_string(number);
  return key;
}

TEST(RunModelTest, TheStemIsTheNameWithoutItsNumbers) {
  EXPECT_EQ(StemOf("train-20260131-x2x9k"), "train");
  EXPECT_EQ(StemOf("train-17"), "train");
  EXPECT_EQ(StemOf("train-big"), "train-big");
  EXPECT_EQ(StemOf("17-train"), "17-train");
  EXPECT_EQ(StemOf("17"), "17");
  EXPECT_EQ(StemOf("resnet50"), "resnet50");
}

TEST(RunModelTest, RunKeyHasTheFieldsOfTheWorkload) {
  api::Workload workload = WaitingWorkload("train-3", "a", 2);
  workload.spec.pod_sets[0].count = 3;
  workload.spec.pod_sets[0].pod_template.spec.containers[0].image = "model:1";
  workload.meta.annotations[api::kUserAnnotation] = "ann";
  EXPECT_EQ(RunKeyOf(workload, 600), (RunKey{.queue = "team/a",
                                             .kind = "Job",
                                             .name = "train-3",
                                             .user = "ann",
                                             .image = "model:1,",
                                             .requests = {{"cpu", 6000}},
                                             .declared = 600}));
  workload.spec.maximum_execution_time_seconds = 300;
  EXPECT_EQ(RunKeyOf(workload, 600).declared, 300);
  workload.spec.maximum_execution_time_seconds.reset();
  workload.meta.annotations["provreq.kueue.x-k8s.io/maxRunDurationSeconds"] = "900";
  EXPECT_EQ(RunKeyOf(workload, {}).declared, 900);
}

TEST(RunModelTest, UnknownRunIsThePriorWithinTheDeclaredMaximum) {
  RunMemberList list;
  RunKey bounded = KeyOf("y");
  bounded.declared = 1000;
  const auto free = list.Waits(KeyOf("x"), 10);
  const auto declared = list.Waits(bounded, 10);
  const RunModel model = list.Model();
  EXPECT_EQ(model.Whole(free).level, RunLevel::kPrior);
  EXPECT_EQ(model.Whole(free).At(0.5), 1800);
  EXPECT_EQ(model.Whole(declared).At(0.5), 300);
  EXPECT_EQ(model.Whole(declared).At(1), 1000);
  EXPECT_EQ(model.Whole(declared).runs, 0);
}

TEST(RunModelTest, RunsOfTheKindOutweighThoseOfTheQueue) {
  RunMemberList list;
  AddRuns(list, KeyOf("other-1", 8), 50'000);
  AddRuns(list, KeyOf("train-1"), 600);
  const auto same = list.Waits(KeyOf("train-2"), 10);
  const auto wider = list.Waits(KeyOf("train-3", 2), 10);
  const auto like = list.Waits(KeyOf("new"), 10);
  const auto other = list.Waits(KeyOf("newer", 3), 10);
  RunKey elsewhere = KeyOf("train-4");
  elsewhere.queue = "team/b";
  const auto far = list.Waits(elsewhere, 10);
  const RunModel model = list.Model();
  EXPECT_EQ(model.Whole(same).level, RunLevel::kKind);
  EXPECT_EQ(model.Whole(same).runs, 20);
  EXPECT_EQ(model.Whole(same).At(0.5), 600);
  EXPECT_EQ(model.Whole(wider).level, RunLevel::kSubmitter);
  EXPECT_EQ(model.Whole(wider).At(0.5), 600);
  EXPECT_EQ(model.Whole(like).level, RunLevel::kRequests);
  EXPECT_EQ(model.Whole(other).level, RunLevel::kQueue);
  EXPECT_EQ(model.Whole(far).level, RunLevel::kCluster);
}

TEST(RunModelTest, RunsOfARecurringNameAreModelledApart) {
  RunMemberList list;
  for (int i = 0; i < 5; ++i) {
    list.Ended(KeyOf("etl-1"), kDaySeconds + 2 * kHourSeconds * i, 600);
    list.Ended(KeyOf("etl-2"), kDaySeconds + 2 * kHourSeconds * i, 18'000);
  }
  const auto first = list.Waits(KeyOf("etl-1"), 10);
  const auto second = list.Waits(KeyOf("etl-2"), 10);
  const RunModel model = list.Model();
  EXPECT_EQ(model.Whole(first).At(0.5), 600);
  EXPECT_EQ(model.Whole(second).At(0.5), 18'000);
}

// A thousand jobs that run together for long tell as much as a few.
TEST(RunModelTest, LargeRunningBatchDoesNotMoveOtherKindsToLongRuns) {
  RunMemberList list;
  AddRuns(list, KeyOf("short-1"), 600);
  list.Ended(KeyOf("long-1"), 3 * kDaySeconds, 108'000);
  for (int i = 0; i < 1000; ++i) list.Runs(KeyOf("running-1"), 10'000 + i, 10'000);
  const auto job = list.Waits(KeyOf("new"), 10);
  EXPECT_EQ(list.Model().Whole(job).At(0.5), 600);
}

TEST(RunModelTest, UserOutweighsTheNamesOfJobs) {
  RunMemberList list;
  AddRuns(list, KeyOf("xa", 1, "ann"), 600);
  AddRuns(list, KeyOf("xb", 1, "bob"), 9000);
  const auto job = list.Waits(KeyOf("xc", 1, "ann"), 10);
  const RunModel model = list.Model();
  EXPECT_EQ(model.Whole(job).At(0.5), 600);
  EXPECT_LE(model.Whole(job).level, RunLevel::kSubmitter);
}

TEST(RunModelTest, ABatchThatEndsEarlyShiftsItsWaitingMembers) {
  RunMemberList list;
  AddRuns(list, KeyOf("train-1"), 10'000);
  const auto alone = list.Waits(KeyOf("train-2"), 3 * kHourSeconds);
  for (int i = 0; i < 10; ++i) list.Ended(KeyOf("train-" + std::to_string(i)), kHourSeconds, 50);
  const auto member = list.Waits(KeyOf("train-40"), kHourSeconds - 60);
  const RunModel model = list.Model();
  EXPECT_NE(model.batch_of(alone), model.batch_of(member));
  EXPECT_EQ(model.Whole(member).level, RunLevel::kBatch);
  EXPECT_EQ(model.Whole(member).At(0.5), 50);
  EXPECT_EQ(model.Whole(alone).At(0.5), 10'000);
}

// A batch of a thousand jobs tells as much of the next batch as a few jobs do.
TEST(RunModelTest, LargeBatchDoesNotOutweighOtherRuns) {
  RunMemberList list;
  for (int i = 0; i < 1000; ++i) {
    list.Ended(KeyOf("train-" + std::to_string(5000 + i)), 2 * kDaySeconds + i, 10);
  }
  AddRuns(list, KeyOf("train-1"), 10'000, 8);
  const auto job = list.Waits(KeyOf("train-2"), 10);
  EXPECT_EQ(list.Model().Whole(job).At(0.6), 10'000);
}

TEST(RunModelTest, StoppedRunsDoNotMoveAForecastToTheDeclaredMaximum) {
  RunMemberList list;
  RunKey key = KeyOf("train-1");
  key.declared = 100'000;
  AddRuns(list, key, 1000);
  for (int i = 0; i < 20; ++i)
    list.Stopped(Numbered(key, 2000 + i), kDaySeconds + 2 * kHourSeconds * i + 7, 10);
  const auto job = list.Waits(key, 10);
  const RunModel model = list.Model();
  EXPECT_EQ(model.Whole(job).At(0.5), 1000);
  EXPECT_EQ(model.Whole(job).runs, 20);
  EXPECT_LT(model.Whole(job).At(0.9), 2000);
}

TEST(RunModelTest, RemainingRunDependsOnTheElapsedRun) {
  RunMemberList list;
  AddRuns(list, KeyOf("train-1"), 100);
  AddRuns(list, KeyOf("train-1"), 1000);
  const auto young = list.Runs(KeyOf("train-2"), 5 * kHourSeconds, 0);
  const auto old = list.Runs(KeyOf("train-3"), 8 * kHourSeconds, 200);
  RunKey bounded = KeyOf("train-4");
  bounded.declared = 500;
  const auto declared = list.Runs(bounded, 11 * kHourSeconds, 200);
  const auto over = list.Runs(bounded, 14 * kHourSeconds, 900);
  const RunModel model = list.Model();
  EXPECT_EQ(model.Left(young).At(0.25), 100);
  EXPECT_EQ(model.Left(old).At(0.25), 800);
  EXPECT_EQ(model.Left(declared).At(0.5), 300);
  EXPECT_EQ(model.Left(over).At(0.9), 0);
}

TEST(RunModelTest, OldRunsWeighLess) {
  RunMemberList list;
  for (int i = 0; i < 20; ++i)
    list.Ended(KeyOf("train-1"), 60 * kDaySeconds + 2 * kHourSeconds * i, 10'000);
  AddRuns(list, KeyOf("train-1"), 10, 5);
  const auto job = list.Waits(KeyOf("train-2"), 10);
  EXPECT_EQ(list.Model().Whole(job).At(0.5), 10);
}

TEST(RunModelTest, LikenessOfRunsInABatchIsMeasured) {
  RunMemberList alike;
  RunMemberList mixed;
  for (int batch = 0; batch < 60; ++batch) {
    for (int i = 0; i < 4; ++i) {
      const std::int64_t age = kDaySeconds + batch * 3 * kHourSeconds + i;
      alike.Ended(KeyOf("train-1"), age, 10 << (batch % 10));
      mixed.Ended(KeyOf("train-1"), age, 10 << ((batch + 3 * i) % 10));
    }
  }
  EXPECT_GT(alike.Model().batch_likeness(), 0.75);
  EXPECT_LT(mixed.Model().batch_likeness(), 0.3);
  EXPECT_EQ(RunMemberList().Model().batch_likeness(), 0.4);
}

}  // namespace
}  // namespace berth::simulation

// Goal: the forecast of a run follows the runs that are most like it, within what is declared, and
// what the run has lasted already. Method: histories made by hand, and the quantiles that follow.
#include "simulation/run_forecast.h"

#include <gtest/gtest.h>

#include "tests/simulation/standing_cluster.h"

namespace berth::simulation {
namespace {

RunKey Key(const std::string& name, std::int64_t cpus = 1) {
  return {.queue = "team/a", .kind = "Job", .name = name, .requests = {{"cpu", cpus * 1000}}};
}

void AddRuns(RunHistory& history, const RunKey& key, std::int64_t length, int count = 20) {
  for (int i = 0; i < count; ++i) history.Add({.key = key, .seconds = length, .ended = true});
}

TEST(RunForecastTest, TheStemIsTheNameWithoutItsNumbers) {
  EXPECT_EQ(StemOf("train-20260131-x2x9k"), "train");
  EXPECT_EQ(StemOf("train-17"), "train");
  EXPECT_EQ(StemOf("train-big"), "train-big");
  EXPECT_EQ(StemOf("17-train"), "17-train");
  EXPECT_EQ(StemOf("17"), "17");
  EXPECT_EQ(StemOf("resnet50"), "resnet50");
}

TEST(RunForecastTest, AKeyHasWhatTheWorkloadDeclares) {
  api::Workload workload = WaitingWorkload("train-3", "a", 2);
  workload.spec.pod_sets[0].count = 3;
  workload.spec.pod_sets[0].pod_template.spec.containers[0].image = "model:1";
  EXPECT_EQ(RunKeyOf(workload, 600), (RunKey{.queue = "team/a",
                                             .kind = "Job",
                                             .name = "train-3",
                                             .image = "model:1,",
                                             .requests = {{"cpu", 6000}},
                                             .declared = 600}));
  workload.spec.maximum_execution_time_seconds = 300;
  EXPECT_EQ(RunKeyOf(workload, 600).declared, 300);
  workload.spec.maximum_execution_time_seconds.reset();
  workload.meta.annotations["provreq.kueue.x-k8s.io/maxRunDurationSeconds"] = "900";
  EXPECT_EQ(RunKeyOf(workload, {}).declared, 900);
}

TEST(RunForecastTest, NothingKnownIsThePriorWithinTheDeclaredMaximum) {
  const RunHistory history;
  EXPECT_EQ(history.Of(Key("x"))->level, RunLevel::kPrior);
  EXPECT_EQ(history.Of(Key("x"))->At(0.5), 1800);
  RunKey key = Key("x");
  key.declared = 1000;
  EXPECT_EQ(history.Of(key)->At(0.5), 300);
  EXPECT_EQ(history.Of(key)->At(1), 1000);
  EXPECT_EQ(history.Of(key)->runs, 0);
}

TEST(RunForecastTest, RunsOfTheNameOutweighThoseOfTheQueue) {
  RunHistory history;
  AddRuns(history, Key("other", 8), 50'000);
  AddRuns(history, Key("train"), 600);
  const auto forecast = history.Of(Key("train"));
  EXPECT_EQ(forecast->level, RunLevel::kName);
  EXPECT_EQ(forecast->runs, 20);
  EXPECT_EQ(forecast->At(0.5), 600);
  EXPECT_EQ(forecast->At(0.9), 600);
  EXPECT_EQ(history.Of(Key("train-5"))->level, RunLevel::kStem);
  EXPECT_EQ(history.Of(Key("new"))->level, RunLevel::kRequests);
  EXPECT_EQ(history.Of(Key("new", 3))->level, RunLevel::kQueue);
  RunKey elsewhere = Key("train");
  elsewhere.queue = "team/b";
  EXPECT_EQ(history.Of(elsewhere)->level, RunLevel::kPrior);
}

TEST(RunForecastTest, ARunCountsOnceAtItsNearestLevel) {
  RunHistory history;
  AddRuns(history, Key("train"), 600, 3);
  EXPECT_EQ(history.Of(Key("train"))->runs, 3);
}

TEST(RunForecastTest, TheShareOfTheDeclaredMaximumIsLearned) {
  RunHistory history;
  for (int i = 0; i < 60; ++i) {
    RunKey key = Key("past" + std::to_string(i), 1);
    key.requests["memory"] = i;
    key.declared = 1000 + i;
    history.Add({.key = key, .seconds = (1000 + i) / 10, .ended = true});
  }
  RunKey key = Key("new", 5);
  key.declared = 36'000;
  EXPECT_EQ(history.Of(key)->level, RunLevel::kDeclared);
  EXPECT_NEAR(history.Of(key)->At(0.5), 3600, 40);
}

TEST(RunForecastTest, ARunThatWasStoppedIsLongerThanThat) {
  RunHistory history;
  AddRuns(history, Key("train"), 1000);
  for (int i = 0; i < 20; ++i) history.Add({.key = Key("train"), .seconds = 10, .ended = false});
  EXPECT_EQ(history.Of(Key("train"))->At(0.5), 1000);
  EXPECT_EQ(history.Of(Key("train"))->runs, 20);
}

TEST(RunForecastTest, WhatIsLeftDependsOnWhatItHasRun) {
  RunHistory history;
  AddRuns(history, Key("train"), 100);
  AddRuns(history, Key("train"), 1000);
  EXPECT_EQ(history.Left(Key("train"), 0)->At(0.25), 100);
  EXPECT_EQ(history.Left(Key("train"), 200)->At(0.25), 800);
  RunKey key = Key("train");
  key.declared = 500;
  EXPECT_EQ(history.Left(key, 200)->At(0.5), 300);
  EXPECT_EQ(history.Left(key, 900)->At(0.9), 0);
}

}  // namespace
}  // namespace berth::simulation

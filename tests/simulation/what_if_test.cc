// Goal: the comparison of two forecasts says who starts later, earlier, never, and who is
// preempted. Method: forecasts of two draws made by hand.
#include "simulation/what_if.h"

#include <gtest/gtest.h>

#include "tests/simulation/standing_cluster.h"

namespace berth::simulation {
namespace {

using std::chrono::seconds;
using Start = std::optional<Duration>;

struct Side {
  std::vector<ForecastJob> jobs;
  Forecast forecast;

  Side& Add(const api::Workload& workload, std::vector<Start> starts,
            std::vector<std::int32_t> preemptions = {0, 0}) {
    jobs.emplace_back().job.object = std::make_shared<const api::Workload>(workload);
    JobForecast& made = forecast.jobs.emplace_back();
    made.starts = std::move(starts);
    made.preemptions = std::move(preemptions);
    if (made.Started() < 2) made.why = "no room";
    return *this;
  }
};

std::vector<std::string> EffectsOf(const Side& before, const Side& after) {
  std::vector<std::string> effects;
  for (const JobChange& change :
       CompareForecasts({before.jobs, before.forecast}, {after.jobs, after.forecast})) {
    effects.push_back(change.workload->meta.uid.substr(4) + " " + ToString(change.effect) +
                      (IsWorseOff(change) ? " worse" : ""));
  }
  return effects;
}

TEST(WhatIfTest, EqualForecastsHaveNoEffects) {
  Side side;
  side.Add(WaitingWorkload("a", "q", 1), {seconds(5), std::nullopt})
      .Add(RunningWorkload("b", "q", 1, 10), {-seconds(10), -seconds(10)}, {1, 0});
  EXPECT_EQ(EffectsOf(side, side), (std::vector<std::string>{"a none", "b none"}));
}

TEST(WhatIfTest, EachChangeOfAJobHasItsEffect) {
  const auto wait = [](const char* name) { return WaitingWorkload(name, "q", 1); };
  Side before;
  before.Add(wait("later"), {seconds(5), seconds(5)})
      .Add(wait("earlier"), {seconds(50), seconds(5)})
      .Add(wait("impossible"), {seconds(5), seconds(5)})
      .Add(wait("possible"), {std::nullopt, std::nullopt})
      .Add(RunningWorkload("preempted", "q", 1, 10), {-seconds(10), -seconds(10)})
      .Add(RunningWorkload("spared", "q", 1, 10), {-seconds(10), -seconds(10)}, {1, 1})
      .Add(wait("same"), {seconds(5), seconds(5)});
  Side after;
  after.Add(wait("later"), {seconds(5), seconds(8)})
      .Add(wait("earlier"), {seconds(5), seconds(5)})
      .Add(wait("impossible"), {seconds(5), std::nullopt})
      .Add(wait("possible"), {seconds(5), std::nullopt})
      .Add(RunningWorkload("preempted", "q", 1, 10), {-seconds(10), -seconds(10)}, {0, 1})
      .Add(RunningWorkload("spared", "q", 1, 10), {-seconds(10), -seconds(10)})
      .Add(wait("same"), {seconds(5), seconds(5) + std::chrono::milliseconds(900)})
      .Add(wait("new"), {seconds(5), seconds(5)});
  EXPECT_EQ(EffectsOf(before, after),
            (std::vector<std::string>{"later later worse", "earlier earlier",
                                      "impossible impossible worse", "possible possible",
                                      "preempted preempted worse", "spared spared", "same none",
                                      "new new"}));
}

TEST(WhatIfTest, ARunThatTheChangeEndsIsAPreemption) {
  Side before;
  before.Add(RunningWorkload("a", "q", 1, 10), {-seconds(10), -seconds(10)});
  Side after;
  api::Workload evicted = RunningWorkload("a", "q", 1, 10);
  AddCondition(evicted, "Evicted", true, "NodeFailures", 0);
  after.Add(evicted, {seconds(0), seconds(0)});
  EXPECT_EQ(EffectsOf(before, after), std::vector<std::string>{"a preempted worse"});
}

}  // namespace
}  // namespace berth::simulation

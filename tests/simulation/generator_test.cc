// Goal: a generator makes the same jobs for the same seed, with the distributions, shapes and
// graphs that its sources ask for; World submits a job when those that it waits for have finished.
// Method: many jobs against the moments of their distributions; small graphs by hand.
#include "simulation/generator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulation/run_report.h"
#include "tests/simulation/day.h"

namespace berth::simulation {
namespace {

using std::chrono_literals::operator""s;
using ::testing::ElementsAre;

constexpr int kMany = 20'000;

JobSource ManyJobs(RandomSpan run) {
  JobSource source;
  source.count = kMany;
  source.between = {.kind = RandomSpan::Kind::kExponential, .first = 10s};
  source.run = std::move(run);
  source.shapes = {{.requests = {{"cpu", 1000}}}};
  return source;
}

std::vector<double> RunsOf(const JobSource& source) {
  const auto trace = GenerateTrace({source}, 1);
  std::vector<double> runs;
  for (const TraceJob& job : trace->jobs) {
    runs.push_back(std::chrono::duration<double>(job.run).count());
  }
  std::sort(runs.begin(), runs.end());
  return runs;
}

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST(GeneratorTest, RunsFollowTheirDistribution) {
  const auto uniform =
      RunsOf(ManyJobs({.kind = RandomSpan::Kind::kUniform, .first = 10s, .last = 30s}));
  EXPECT_NEAR(MeanOf(uniform), 20, 0.2);
  EXPECT_GE(uniform.front(), 10);
  EXPECT_LE(uniform.back(), 30);
  EXPECT_NEAR(MeanOf(RunsOf(ManyJobs({.kind = RandomSpan::Kind::kExponential, .first = 60s}))), 60,
              2);
  const auto lognormal =
      RunsOf(ManyJobs({.kind = RandomSpan::Kind::kLognormal, .first = 100s, .sigma = 1}));
  EXPECT_NEAR(lognormal[kMany / 2], 100, 4);
  EXPECT_NEAR(std::log(lognormal[kMany * 841 / 1000] / lognormal[kMany / 2]), 1, 0.05);
  const auto values = RunsOf(ManyJobs({.kind = RandomSpan::Kind::kValues, .values = {1s, 5s}}));
  EXPECT_EQ(values.front(), 1);
  EXPECT_EQ(values.back(), 5);
  EXPECT_NEAR(MeanOf(values), 3, 0.1);
  EXPECT_EQ(MeanOf(RunsOf(ManyJobs({.first = 7s}))), 7);
}

TEST(GeneratorTest, ArrivalsAndShapesFollowTheSource) {
  JobSource source = ManyJobs({.first = 1s});
  source.start = 100s;
  source.shapes = {{.weight = 3, .pods = 1}, {.weight = 1, .pods = 8}};
  const auto trace = GenerateTrace({source}, 5);
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->jobs.size(), static_cast<std::size_t>(kMany));
  EXPECT_EQ(trace->jobs.front().submit, Duration(100s));
  const double span = std::chrono::duration<double>(trace->jobs.back().submit - 100s).count();
  EXPECT_NEAR(span / kMany, 10, 0.3);
  const auto large = std::count_if(trace->jobs.begin(), trace->jobs.end(),
                                   [](const TraceJob& job) { return job.pods == 8; });
  EXPECT_NEAR(static_cast<double>(large) / kMany, 0.25, 0.01);
}

TEST(GeneratorTest, ASeedGivesOneTrace) {
  const JobSource one = ManyJobs({.kind = RandomSpan::Kind::kExponential, .first = 60s});
  const auto trace = GenerateTrace({one}, 3);
  EXPECT_EQ(GenerateTrace({one}, 3)->jobs, trace->jobs);
  EXPECT_NE(GenerateTrace({one}, 4)->jobs, trace->jobs);
  // Another source leaves the jobs of the first one alone.
  auto both = GenerateTrace({one, ManyJobs({.first = 1s})}, 3)->jobs;
  both.resize(kMany);
  EXPECT_EQ(both, trace->jobs);
}

TEST(GeneratorTest, StagesHaveTheWidthsOfTheirPhases) {
  JobSource source = ManyJobs({.first = 20s});
  source.phases = {{.stages = 10, .min = 1, .max = 2, .variation = 1},
                   {.stages = 10, .min = 3, .max = 10, .variation = 5}};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto trace = GenerateTrace({source}, seed);
    std::vector<std::size_t> widths;
    for (std::size_t job = 0; job < trace->jobs.size();) {
      const auto& after = trace->jobs[job].after;
      ASSERT_EQ(after.size(), widths.empty() ? 0 : widths.back());
      const auto same = [&after](const TraceJob& each) { return each.after == after; };
      const auto first = trace->jobs.begin() + static_cast<std::ptrdiff_t>(job);
      const auto end = std::find_if_not(first, trace->jobs.end(), same);
      widths.push_back(static_cast<std::size_t>(end - first));
      job += widths.back();
    }
    ASSERT_EQ(widths.size(), 20U);
    for (std::size_t i = 0; i < 10; ++i) EXPECT_LE(widths[i], 2U);
    for (std::size_t i = 10; i < 20; ++i) {
      EXPECT_GE(widths[i], 3U);
      EXPECT_LE(widths[i], std::min<std::size_t>(10, widths[i - 1] + 5));
    }
  }
}

TEST(GeneratorTest, AShareOfTheJobsFails) {
  JobSource source = ManyJobs({.first = 20s});
  const auto failed = [&source] {
    const auto trace = GenerateTrace({source}, 1);
    return std::count_if(trace->jobs.begin(), trace->jobs.end(),
                         [](const TraceJob& job) { return job.failed; });
  };
  EXPECT_EQ(failed(), 0);
  source.failing = 0.25;
  EXPECT_NEAR(static_cast<double>(failed()), kMany / 4.0, kMany * 0.01);
  source.failing = 1;
  EXPECT_EQ(failed(), kMany);
}

TEST(GeneratorTest, JobIsSubmittedAfterItsPredecessors) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 1);
  Prepare(cluster);
  Trace trace;
  for (const int run : {10, 20, 5}) {
    TraceJob& job = trace.jobs.emplace_back();
    job.run = std::chrono::seconds(run);
    job.requests["cpu"] = 1000;
  }
  trace.jobs[0].submit = 3s;
  trace.jobs[0].after = {1, 2};  // three seconds after the last of the others
  const auto jobs = BindJobs(trace, cluster, "");
  ASSERT_TRUE(jobs) << jobs.error().message;
  std::vector<std::string> events;
  WorldOptions options;
  options.driver.wake_up_batch = Duration::zero();
  options.on_event = [&events](const WorldEvent& event) {
    if (event.kind != WorldEvent::Kind::kSubmitted && event.kind != WorldEvent::Kind::kStarted) {
      return;
    }
    events.push_back(std::to_string(event.at / 1s) +
                     (event.kind == WorldEvent::Kind::kStarted ? " start " : " submit ") +
                     std::to_string(event.job));
  };
  const WorldResult result = World(cluster, *jobs, options).Run();
  EXPECT_THAT(events, ElementsAre("0 submit 0", "0 submit 1", "0 start 0", "20 start 1",
                                  "28 submit 2", "28 start 2"));
  const Report report = MakeReport(cluster, *jobs, result);
  EXPECT_EQ(report.total.figures.finished, 3);
  EXPECT_NEAR(report.total.figures.wait_mean, 20.0 / 3, 1e-9);
}

TEST(GeneratorTest, JobAfterOneThatNeverFinishesIsNotSubmitted) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 1);
  Prepare(cluster);
  Trace trace;
  for (int i = 0; i < 2; ++i) trace.jobs.emplace_back().requests["cpu"] = 9000;
  trace.jobs[1].after = {0};
  const auto jobs = BindJobs(trace, cluster, "");
  const WorldResult result = World(cluster, *jobs, {}).Run();
  EXPECT_EQ(result.outcomes[1].submitted, std::nullopt);
  EXPECT_EQ(result.outcomes[1].why, "waits for a job that never finishes");
}

}  // namespace
}  // namespace berth::simulation

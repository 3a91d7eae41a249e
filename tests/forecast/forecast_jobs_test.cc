// Goal: runs of the ledger count for forecasts as the runs of Workloads in the cluster do.
// Method: a job that waits, and past runs that have one thing in common with it.
#include <gtest/gtest.h>

#include "api/condition.h"
#include "api/job_user.h"
#include "api/quantity.h"
#include "api/reasons.h"
#include "forecast/forecast_cluster.h"
#include "tests/view/view_builder.h"

namespace berth::forecast {
namespace {

// A job of the image model:1 with two CPUs that may run for 1,000 s.
view::ClusterView WaitingView() {
  view::ClusterView view;
  view.now = view::ViewTime();
  view.cluster_queues = {view::MakeQueue("team", "", {{"cpu", 4000}}, {})};
  view.local_queues = {view::MakeLocalQueue("default", "main", "team")};
  api::Workload workload = view::MakeWorkload("default", "waits", "main", 60);
  api::PodSet pods;
  api::Container& container = pods.pod_template.spec.containers.emplace_back();
  container.image = "model:1";
  container.requests = {{"cpu", 2000}};
  workload.spec.pod_sets = std::vector<api::PodSet>{pods};
  workload.spec.maximum_execution_time_seconds = 1000;
  view.workloads = {workload};
  return view;
}

// Thirty runs of 400 s of jobs with names of their own.
std::vector<ledger::AttemptRecord> PastRuns(const ledger::AttemptRecord& like) {
  std::vector<ledger::AttemptRecord> attempts;
  for (int i = 0; i < 30; ++i) {
    ledger::AttemptRecord attempt = like;
    attempt.uid = "past-" + std::to_string(i);
    attempt.namespace_name = "default";
    attempt.local_queue = "main";
    attempt.owner_kind = "Job";
    attempt.owner_name = std::string(1, static_cast<char>('a' + i % 26)) + "x" + std::to_string(i);
    attempt.admitted = 1000 + i;
    attempt.ended = 1400 + i;
    attempt.outcome = ledger::kSucceeded;
    attempts.push_back(attempt);
  }
  return attempts;
}

simulation::RunForecast RunOfTheWaiting(const ledger::AttemptRecord& like) {
  const ForecastCluster cluster = MakeForecastCluster(WaitingView(), PastRuns(like));
  return *ForecastJobsOf(cluster).jobs.at(0).run;
}

TEST(ForecastJobsTest, RunsOfTheLedgerMatchJobsOfTheSameImage) {
  const auto run = RunOfTheWaiting({.image = "model:1,", .resources = {{"t4", "cpu", 2000}}});
  EXPECT_EQ(run.level, simulation::RunLevel::kRequests);
  EXPECT_NEAR(run.At(0.5), 400, 20);
  EXPECT_EQ(RunOfTheWaiting({.image = "other:1,", .resources = {{"t4", "cpu", 2000}}}).level,
            simulation::RunLevel::kQueue);
}

// Two nodes of a rack with a topology that the flavor names; the job asks for a rack of its own.
TEST(ForecastJobsTest, TopologiesNeedNodesInTheView) {
  view::ClusterView view = WaitingView();
  std::vector<api::PodSet> pod_sets = view.workloads[0].spec.pod_sets;
  pod_sets[0].topology_request.emplace().required = "rack";
  view.workloads[0].spec.pod_sets = pod_sets;
  view.flavors.emplace_back().meta.name = "t4";
  view.flavors[0].topology_name = "racks";
  // Without nodes quota alone decides, and the output says so.
  ForecastCluster cluster = MakeForecastCluster(view, {});
  EXPECT_TRUE(cluster.cluster.topologies.empty());
  EXPECT_EQ(cluster.notes.size(), 1U);
  EXPECT_FALSE(cluster.workloads[0]->spec.pod_sets[0].topology_request.has_value());
  view.topologies.push_back({.meta = {.name = "racks"}, .levels = {"rack"}});
  view.topology_nodes.emplace_back().meta.name = "n1";
  cluster = MakeForecastCluster(view, {});
  EXPECT_EQ(cluster.cluster.topologies.size(), 1U);
  EXPECT_EQ(cluster.cluster.flavors[0].topology_name, "racks");
  EXPECT_TRUE(cluster.notes.empty());
  EXPECT_TRUE(cluster.workloads[0]->spec.pod_sets[0].topology_request.has_value());
  view.hidden = {"nodes"};
  EXPECT_TRUE(MakeForecastCluster(view, {}).cluster.topologies.empty());
}

TEST(ForecastJobsTest, RunsOfTheLedgerMatchJobsOfTheSameDeclaredMaximum) {
  const auto run = RunOfTheWaiting({.declared = 1100, .resources = {{"t4", "cpu", 500}}});
  EXPECT_EQ(run.level, simulation::RunLevel::kDeclared);
  EXPECT_NEAR(run.At(0.5), 400, 20);
  EXPECT_EQ(RunOfTheWaiting({.resources = {{"t4", "cpu", 500}}}).level,
            simulation::RunLevel::kQueue);
}

TEST(ForecastJobsTest, RunsOfTheLedgerMatchJobsOfTheSameUser) {
  view::ClusterView view = WaitingView();
  view.workloads[0].meta.annotations[api::kUserAnnotation] = "ann";
  const auto run = [&view](const std::string& user) {
    return *ForecastJobsOf(MakeForecastCluster(view, PastRuns({.user = user}))).jobs.at(0).run;
  };
  EXPECT_EQ(run("ann").level, simulation::RunLevel::kSubmitter);
  EXPECT_EQ(run("bob").level, simulation::RunLevel::kQueue);
}

TEST(ForecastJobsTest, PreemptedRunIsALowerBoundOfTheNextRun) {
  ledger::AttemptRecord stopped{.uid = WaitingView().workloads[0].meta.uid};
  stopped.admitted = 1000;
  stopped.ended = 1900;
  stopped.outcome = ledger::kPreempted;
  const ForecastCluster cluster = MakeForecastCluster(WaitingView(), {stopped});
  ASSERT_EQ(cluster.runs.open().size(), 1U);
  EXPECT_EQ(cluster.runs.FloorOf(cluster.runs.open()[0]), 900);
}

// The ledger counts what has quota alone; the job asks for memory beside it.
TEST(ForecastJobsTest, ResourcesWithoutQuotaDoNotDistinguishRuns) {
  view::ClusterView view = WaitingView();
  std::vector<api::PodSet> pod_sets = view.workloads[0].spec.pod_sets;
  pod_sets[0].pod_template.spec.containers[0].requests["memory"] = 1000;
  view.workloads[0].spec.pod_sets = pod_sets;
  const auto attempts = PastRuns({.image = "model:1,", .resources = {{"t4", "cpu", 2000}}});
  const ForecastJobs jobs = ForecastJobsOf(MakeForecastCluster(view, attempts));
  EXPECT_EQ(jobs.jobs.at(0).run->level, simulation::RunLevel::kRequests);
}

TEST(ForecastJobsTest, ArrivalsAreDrawnFromFinishedJobs) {
  view::ClusterView view = WaitingView();
  std::vector<ledger::AttemptRecord> attempts = PastRuns({.resources = {{"t4", "cpu", 2000}}});
  const std::int64_t now = ledger::ToSeconds(view.now);
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    attempts[i].created = now - 7200 * static_cast<std::int64_t>(i + 1);
    attempts[i].admitted = attempts[i].created;
    attempts[i].ended = *attempts[i].admitted + 400;
  }
  const ForecastCluster cluster = MakeForecastCluster(view, attempts);
  const auto drawn = cluster.arrivals.arrivals.Draw(1, std::chrono::hours(48));
  EXPECT_GT(drawn.size(), 10U);  // 24 in the mean
  EXPECT_LT(drawn.size(), 40U);
  const simulation::Job& job = cluster.arrivals.jobs.at(drawn.front().member);
  EXPECT_EQ(job.shape->requests, (api::ResourceAmounts{{"cpu", 2000}}));
}

}  // namespace
}  // namespace berth::forecast

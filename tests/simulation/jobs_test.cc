// Goal: rows find their LocalQueue and priority, in the order of submission; what does not fit is
// told with its line. Method: traces of few rows on clusters of one and two queues.
#include "simulation/jobs.h"

#include <gtest/gtest.h>

#include "tests/simulation/day.h"

namespace berth::simulation {
namespace {

Result<std::vector<Job>> Bind(const Cluster& cluster, const std::string& csv,
                              const std::string& default_queue = "") {
  const Result<Trace> trace = ReadCsv(csv);
  if (!trace) return trace.error();
  return BindJobs(*trace, cluster, default_queue);
}

std::string ProblemOf(const Cluster& cluster, const std::string& csv) {
  const auto jobs = Bind(cluster, csv);
  return jobs ? "" : jobs.error().message;
}

TEST(BindJobsTest, SortsBySubmissionAndKeepsTheOrderOfTies) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 4);
  const auto jobs = Bind(cluster, "submit,run,class,pods,cpu\n5,1,high,2,3\n0,1,7,1,1\n5,1,,2,3\n");
  ASSERT_TRUE(jobs) << jobs.error().message;
  ASSERT_EQ(jobs->size(), 3U);
  EXPECT_EQ((*jobs)[0].line, 3);
  EXPECT_EQ((*jobs)[0].priority, 7);
  EXPECT_EQ((*jobs)[1].line, 2);
  EXPECT_EQ((*jobs)[1].priority, 100);
  EXPECT_EQ((*jobs)[2].line, 4);
  EXPECT_EQ((*jobs)[2].priority, 0);
  EXPECT_EQ((*jobs)[1].shape, (*jobs)[2].shape);
  EXPECT_EQ((*jobs)[1].shape->requests, (api::ResourceAmounts{{"cpu", 6000}}));
}

TEST(BindJobsTest, ADeclaredMaximumGoesToTheJob) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 4);
  const auto jobs = Bind(cluster, "submit,run,walltime\n0,1,60\n1,1,\n");
  ASSERT_TRUE(jobs) << jobs.error().message;
  EXPECT_EQ((*jobs)[0].walltime, 60);
  EXPECT_EQ((*jobs)[1].walltime, std::nullopt);
}

TEST(BindJobsTest, TheDefaultQueueTakesRowsWithoutQueue) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 4);
  AddQueue(cluster, "b", 4);
  const auto jobs = Bind(cluster, "submit,run,queue\n0,1,\n0,1,team/a\n", "b");
  ASSERT_TRUE(jobs) << jobs.error().message;
  EXPECT_EQ((*jobs)[0].local_queue, 1U);
  EXPECT_EQ((*jobs)[1].local_queue, 0U);
}

TEST(BindJobsTest, WrongRowIsRefusedWithItsLine) {
  Cluster cluster = EmptyCluster();
  EXPECT_EQ(ProblemOf(cluster, "submit,run\n"),
            "the manifests have no LocalQueue: no job can be queued");
  AddQueue(cluster, "a", 4);
  EXPECT_EQ(ProblemOf(cluster, "submit,run,queue\n0,1,a\n0,1,z\n"),
            "line 3: queue \"z\" is no LocalQueue of the manifests: team/a");
  EXPECT_EQ(ProblemOf(cluster, "submit,run,priority\n0,1,urgent\n"),
            "line 2: priority \"urgent\" is no number and no WorkloadPriorityClass of the "
            "manifests");
  EXPECT_EQ(ProblemOf(cluster, "submit,run,pods,memory\n0,1,1000000,9Pi\n"),
            "line 2: memory: 1000000 pods of 9Pi are out of range");
  AddQueue(cluster, "b", 4);
  EXPECT_EQ(ProblemOf(cluster, "submit,run\n0,1\n"),
            "line 2: the row names no queue, and there are several LocalQueues: choose one with "
            "--queue (team/a, team/b)");
  // A trace without lines counts its jobs.
  const auto made = BindJobs({.jobs = {{.line = 3}}, .unit = TraceUnit::kJob}, cluster, "");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message,
            "job 3: the job names no queue, and there are several LocalQueues: choose one with "
            "--queue (team/a, team/b)");
  AddQueue(cluster, "a", 4);
  cluster.local_queues.back().meta.namespace_name = "other";
  EXPECT_EQ(ProblemOf(cluster, "submit,run,queue\n0,1,a\n"),
            "line 2: queue \"a\" exists in several namespaces: write NAMESPACE/a");
}

}  // namespace
}  // namespace berth::simulation

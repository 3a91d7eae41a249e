// Goal: a simulated day is the day that the rules of the queues give. Method: days of a few jobs
// whose starts, preemptions and ends are worked out by hand; parked jobs are woken at once unless
// the test says otherwise.
#include "simulation/world.h"

#include <gtest/gtest.h>

#include "tests/simulation/day.h"

namespace berth::simulation {
namespace {

using std::chrono::seconds;
using Events = std::vector<std::string>;

TEST(WorldTest, JobsOfOneQueueWaitInOrder) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 4);
  const Day day = Play(cluster,
                       "submit,cpu,run\n"
                       "0,4,100\n"
                       "10,2,50\n"
                       "20,2,30\n"
                       "30,4,10\n");
  EXPECT_EQ(day.events, (Events{"0 submit 0", "0 start 0", "10 submit 1", "20 submit 2",
                                "30 submit 3", "100 finish 0", "100 start 1", "100 start 2",
                                "130 finish 2", "150 finish 1", "150 start 3", "160 finish 3"}));
  EXPECT_EQ(day.result.end, seconds(160));
  EXPECT_FALSE(day.result.stopped_early);
}

TEST(WorldTest, ParkedJobIsRetriedAfterTheBatchPeriod) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 4);
  const Day day = Play(cluster, "submit,cpu,run\n0,4,100\n10,4,50\n", seconds(1));
  EXPECT_EQ(day.events, (Events{"0 submit 0", "0 start 0", "10 submit 1", "100 finish 0",
                                "101 start 1", "151 finish 1"}));
}

TEST(WorldTest, PreemptedJobRestartsFromTheBeginning) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 4);
  const Day day = Play(cluster, "submit,cpu,run,class\n0,4,100,low\n40,4,20,high\n");
  EXPECT_EQ(day.events, (Events{"0 submit 0", "0 start 0", "40 submit 1", "40 preempt 0",
                                "40 start 1", "60 finish 1", "60 start 0", "160 finish 0"}));
  EXPECT_EQ(day.result.outcomes[0].lost, seconds(40));
  EXPECT_EQ(day.result.outcomes[0].preemptions, 1);
  EXPECT_EQ(day.result.outcomes[0].started, Duration(0));
  EXPECT_EQ(day.result.outcomes[1].lost, Duration(0));
}

TEST(WorldTest, LenderPreemptsTheBorrower) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 2, "org");
  AddQueue(cluster, "b", 2, "org");
  const Day day = Play(cluster,
                       "submit,queue,cpu,run\n"
                       "0,a,4,100\n"
                       "50,b,2,10\n");
  EXPECT_EQ(day.events, (Events{"0 submit 0", "0 start 0", "50 submit 1", "50 preempt 0",
                                "50 start 1", "60 finish 1", "60 start 0", "160 finish 0"}));
}

TEST(WorldTest, JobTakesTheNextFlavorWhenTheFirstIsFull) {
  Cluster cluster = EmptyCluster();
  cluster.flavors.emplace_back().meta.name = "spare";
  api::ClusterQueue& queue = AddQueue(cluster, "a", 2);
  queue.spec.preemption = {};
  queue.spec.resource_groups[0].flavors.push_back(queue.spec.resource_groups[0].flavors[0]);
  queue.spec.resource_groups[0].flavors[1].flavor = "spare";
  const Day day = Play(cluster, "submit,cpu,run\n0,2,10\n0,2,10\n0,2,10\n");
  EXPECT_EQ(day.events, (Events{"0 submit 0", "0 submit 1", "0 submit 2", "0 start 0", "0 start 1",
                                "10 finish 0", "10 finish 1", "10 start 2", "20 finish 2"}));
}

TEST(WorldTest, EachJobThatIsNeverAdmittedHasItsReason) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "big", 4);
  AddQueue(cluster, "strict", 4).spec.queueing_strategy = api::QueueingStrategy::kStrictFifo;
  AddQueue(cluster, "lost", 4).spec.resource_groups[0].flavors[0].flavor = "missing";
  AddQueue(cluster, "nowhere", 4);
  cluster.local_queues.back().cluster_queue = "none";
  AddQueue(cluster, "stopped", 4);
  cluster.local_queues.back().stop_policy = api::StopPolicy::kHold;
  AddQueue(cluster, "closed", 4).spec.namespace_selector.reset();
  const Day day = Play(cluster,
                       "submit,queue,cpu,run\n"
                       "0,big,8,10\n"
                       "0,big,1,10\n"
                       "0,big,8,10\n"
                       "0,strict,8,10\n"
                       "0,strict,1,10\n"
                       "0,lost,1,10\n"
                       "0,nowhere,1,10\n"
                       "0,stopped,1,10\n"
                       "0,closed,1,10\n");
  const auto why = [&day](std::size_t job) { return day.result.outcomes[job].why; };
  const std::string too_big =
      "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default, "
      "previously considered podsets requests (0) + current podset request (8) > maximum capacity "
      "(4)";
  EXPECT_EQ(why(0), too_big);
  EXPECT_EQ(why(1), "");
  EXPECT_EQ(day.result.outcomes[1].finished, seconds(10));
  EXPECT_EQ(why(2), too_big);
  EXPECT_EQ(why(3), too_big);
  EXPECT_EQ(why(4), "waits behind a job of ClusterQueue strict that cannot be admitted");
  EXPECT_EQ(why(5),
            "ClusterQueue lost is inactive: Can't admit new workloads: references missing "
            "ResourceFlavor(s): missing.");
  EXPECT_EQ(why(6), "ClusterQueue none does not exist");
  EXPECT_EQ(why(7), "LocalQueue team/stopped is stopped");
  EXPECT_EQ(why(8), "workload namespace doesn't match ClusterQueue selector");
}

TEST(WorldTest, NotesNameTheChecksAndTopologiesLeftOut) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 4).spec.admission_checks.push_back({"dws", {}});
  cluster.flavors[0].topology_name = "racks";
  const Day day = Play(cluster, "submit,cpu,run\n0,4,10\n");
  EXPECT_EQ(day.notes,
            (std::vector<std::string>{
                "ClusterQueue a: its admission checks count as Ready at once",
                "ResourceFlavor default: its topology is left out, quota alone decides"}));
  EXPECT_EQ(day.result.outcomes[0].finished, seconds(10));
}

TEST(WorldTest, TraceWithoutJobsEndsAtOnce) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 4);
  const Day day = Play(cluster, "submit,run\n");
  EXPECT_TRUE(day.events.empty());
  EXPECT_EQ(day.result.end, Duration(0));
}

TEST(WorldTest, AJobOfNoTimeAndNoRequestsFinishesAtOnce) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 4);
  const Day day = Play(cluster, "submit,run\n5,0\n");
  EXPECT_EQ(day.events, (Events{"0 submit 0", "0 start 0", "0 finish 0"}));
}

}  // namespace
}  // namespace berth::simulation

// Goal: the forecast of a start is that of the scheduler on run times that are known in
// distribution. Method: clusters of a few Workloads whose runs are known for certain, worked out by
// hand; properties of draws on runs that are not.
#include "simulation/forecast.h"

#include <gtest/gtest.h>

#include "api/deadline.h"
#include "api/job_user.h"
#include "api/reasons.h"
#include "base/rfc3339.h"
#include "simulation/deadline_chance.h"
#include "simulation/present_workloads.h"
#include "tests/simulation/day.h"
#include "tests/simulation/run_members.h"
#include "tests/simulation/standing_cluster.h"

namespace berth::simulation {
namespace {

using std::chrono::seconds;
using Starts = std::vector<std::optional<Duration>>;

constexpr char kHostname[] = "kubernetes.io/hostname";

std::shared_ptr<const RunForecast> RunOf(double least, double most) {
  auto run = std::make_shared<RunForecast>();
  for (std::size_t i = 0; i < RunForecast::kPoints; ++i) {
    run->seconds.at(i) = least + (most - least) * static_cast<double>(i) /
                                     static_cast<double>(RunForecast::kPoints - 1);
  }
  return run;
}

class ForecastTest : public ::testing::Test {
 protected:
  ForecastTest() {
    options_.world.start = kNow;
    options_.world.driver.wake_up_batch = Duration::zero();
    options_.draws = 10;
  }

  // Runs between `least` and `most` seconds, or so long beside what it has run.
  void Add(const api::Workload& workload, double least, double most) {
    workloads_.push_back(std::make_shared<const api::Workload>(workload));
    runs_[workload.meta.uid] = RunOf(least, most);
  }

  Forecast Make() {
    Cluster cluster = cluster_;
    Prepare(cluster);
    options_.world.past = World::PastOf(cluster, past_, options_.world);
    standing_ = MakeStanding(workloads_, kNow);
    jobs_.clear();
    for (const Job& job : standing_.jobs) {
      ForecastJob& made = jobs_.emplace_back();
      made.job = job;
      made.run = runs_.at(job.object->meta.uid);
      if (HasRun(*job.object)) made.left = made.run;
      const auto wait = capacity_.find(job.object->meta.uid);
      if (wait != capacity_.end()) made.capacity = wait->second;
    }
    return MakeForecast(cluster, jobs_, options_);
  }

  const JobForecast& Of(const Forecast& forecast, const std::string& name) const {
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (jobs_[i].job.object->meta.uid == "uid-" + name) return forecast.jobs[i];
    }
    throw std::runtime_error("no job " + name);
  }

  Cluster cluster_ = EmptyCluster();
  ForecastOptions options_;
  std::vector<std::shared_ptr<const api::Workload>> workloads_;
  std::vector<std::shared_ptr<const api::Workload>> past_;  // finished
  std::map<std::string, std::shared_ptr<const RunForecast>> runs_;
  std::map<std::string, CapacityWait> capacity_;
  StandingJobs standing_;
  std::vector<ForecastJob> jobs_;
};

// Two racks of two nodes of four CPUs each.
void AddRacks(Cluster& cluster) {
  cluster.flavors[0].topology_name = "racks";
  cluster.topologies.push_back({.meta = {.name = "racks"}, .levels = {"rack", kHostname}});
  for (const char* name : {"a1", "a2", "b1", "b2"}) {
    api::Node& node = cluster.nodes.emplace_back();
    node.meta.name = name;
    node.meta.labels = {{"rack", std::string(1, name[0])}, {kHostname, name}};
    node.allocatable = {{"cpu", 4000}, {"pods", 110}};
    node.conditions = {{.type = "Ready", .status = api::ConditionStatus::kTrue}};
  }
}

// One pod of four CPUs on the node.
api::Workload RunningOn(const std::string& name, const std::string& node) {
  api::Workload workload = RunningWorkload(name, "a", 4, 500);
  api::TopologyAssignment assigned{.levels = {kHostname}, .domains = {{{node}, 1}}};
  workload.status.admission->pod_set_assignments[0].topology_assignment = assigned;
  return workload;
}

// Two pods of four CPUs in one rack.
api::Workload GangOfARack(const std::string& name) {
  api::Workload workload = WaitingWorkload(name, "a", 4, 10);
  std::vector<api::PodSet> pod_sets = workload.spec.pod_sets;
  pod_sets[0].count = 2;
  pod_sets[0].topology_request.emplace().required = "rack";
  workload.spec.pod_sets = pod_sets;
  return workload;
}

// Three of four CPUs are free after 500 seconds more; the queue keeps them for the wide job.
TEST_F(ForecastTest, QueueKeepsAPlaceForTheOldestJob) {
  AddQueue(cluster_, "a", 4).meta.annotations["berth.dev/reserve-after"] = "1h";
  api::Workload running = RunningWorkload("runs", "a", 3, 500);
  running.spec.maximum_execution_time_seconds = 1000;
  Add(running, 1000, 1000);
  Add(WaitingWorkload("wide", "a", 4, 7200), 100, 100);
  Add(WaitingWorkload("narrow", "a", 1, 10), 100, 100);
  const Forecast forecast = Make();
  EXPECT_EQ(Of(forecast, "wide").place, seconds(500));
  EXPECT_EQ(Of(forecast, "narrow").place, std::nullopt);
  cluster_.cluster_queues[0].meta.annotations.clear();
  EXPECT_EQ(Of(Make(), "wide").place, std::nullopt);
}

// An ended run of a day's maximum, by the user.
std::shared_ptr<const api::Workload> EndedRun(const std::string& name, const std::string& user,
                                              std::int64_t ran) {
  constexpr std::int64_t kEnd = 300;
  api::Workload workload = RunningWorkload(name, "a", 4, kEnd + ran);
  AddCondition(workload, api::kFinished, true, api::kSucceeded, kEnd);
  workload.meta.annotations[api::kUserAnnotation] = user;
  workload.spec.maximum_execution_time_seconds = 24 * 3600;
  return std::make_shared<const api::Workload>(workload);
}

TEST_F(ForecastTest, OrderOfAQueueKnowsTheRunsThatHaveEnded) {
  AddQueue(cluster_, "a", 4).meta.annotations["berth.dev/order"] = "ShortestFirst";
  Add(RunningWorkload("running", "a", 4, 500), 100, 100);
  for (const auto& [user, age] : {std::pair("ann", 20), std::pair("bob", 10)}) {
    api::Workload waiting = WaitingWorkload(user, "a", 4, age);
    waiting.meta.annotations[api::kUserAnnotation] = user;
    waiting.spec.maximum_execution_time_seconds = 24 * 3600;
    Add(waiting, 30, 30);
  }
  EXPECT_EQ(Of(Make(), "bob").starts, Starts(10, seconds(130)));
  past_ = {EndedRun("b1", "bob", 60), EndedRun("b2", "bob", 70)};
  const Forecast forecast = Make();
  EXPECT_EQ(Of(forecast, "bob").starts, Starts(10, seconds(100))) << "bob's runs are short";
  EXPECT_EQ(Of(forecast, "ann").starts, Starts(10, seconds(130)));
}

// A wait of a second and half of a run of a day.
TEST_F(ForecastTest, PlacesAreKeptByTheWaitsThatHaveEnded) {
  AddQueue(cluster_, "a", 4).meta.annotations["berth.dev/reserve-after"] = "auto";
  api::Workload running = RunningWorkload("runs", "a", 3, 500);
  running.spec.maximum_execution_time_seconds = 1000;
  Add(running, 1000, 1000);
  Add(WaitingWorkload("wide", "a", 4, 13 * 3600), 100, 100);
  EXPECT_EQ(Of(Make(), "wide").place, std::nullopt) << "nothing is known of waits";
  for (int i = 0; i < 100; ++i) past_.push_back(EndedRun("p" + std::to_string(i), "bob", 60));
  EXPECT_EQ(Of(Make(), "wide").place, seconds(500));
}

TEST_F(ForecastTest, AGangWaitsForARackThatIsFree) {
  AddQueue(cluster_, "a", 16);
  Add(RunningOn("first", "a1"), 100, 100);
  Add(RunningOn("second", "b2"), 300, 300);
  Add(GangOfARack("gang"), 30, 30);
  AddRacks(cluster_);  // the quota has room for the gang at once
  EXPECT_EQ(Of(Make(), "gang").starts, Starts(10, seconds(100)));
  // A pod of a DaemonSet stays on a node of the first rack.
  api::Pod& daemon = cluster_.pods.emplace_back();
  daemon.meta.name = "daemon";
  daemon.phase = "Running";
  daemon.spec.node_name = "a2";
  daemon.spec.containers.emplace_back().requests = {{"cpu", 1000}};
  EXPECT_EQ(Of(Make(), "gang").starts, Starts(10, seconds(300)));
}

TEST_F(ForecastTest, AWaitingJobStartsWhenTheRunningOneEnds) {
  AddQueue(cluster_, "a", 4);
  Add(RunningWorkload("running", "a", 4, 500), 100, 100);
  Add(WaitingWorkload("first", "a", 4, 20), 30, 30);
  Add(WaitingWorkload("second", "a", 4, 10), 30, 30);
  const Forecast forecast = Make();
  EXPECT_EQ(Of(forecast, "first").starts, Starts(10, seconds(100)));
  EXPECT_EQ(Of(forecast, "second").starts, Starts(10, seconds(130)));
  EXPECT_EQ(Of(forecast, "running").At(0.5), -seconds(500));
  EXPECT_EQ(Of(forecast, "second").why, "");
}

TEST_F(ForecastTest, CountsDrawsThatMeetTheDeadline) {
  AddQueue(cluster_, "a", 4);
  Add(RunningWorkload("running", "a", 4, 500), 100, 100);
  const auto with_deadline = [](const std::string& name, std::int64_t age, std::int64_t in) {
    api::Workload workload = WaitingWorkload(name, "a", 4, age);
    workload.meta.annotations[api::kDeadlineAnnotation] = FormatTime(kNow + seconds(in));
    return workload;
  };
  Add(with_deadline("kept", 20, 130), 30, 30);
  Add(with_deadline("late", 10, 159), 30, 30);
  Add(with_deadline("by-chance", 5, 190), 10, 50);
  const Forecast forecast = Make();
  EXPECT_EQ(ChanceInTime(Of(forecast, "running")), std::nullopt) << "it does not wait";
  EXPECT_EQ(ChanceInTime(Of(forecast, "kept")), 1);
  EXPECT_EQ(ChanceInTime(Of(forecast, "late")), 0);
  EXPECT_EQ(ChanceInTime(Of(forecast, "by-chance")), 0.5);
}

TEST(ChanceInTimeTest, DrawsMoveAsTheCorrectedQuantilesOfTheirStarts) {
  JobForecast forecast;
  forecast.deadline = seconds(100);
  // Ten draws start after 0, 10, … 90 s, and run for 20 s.
  for (int i = 9; i >= 0; --i) {
    forecast.starts.emplace_back(seconds(10 * i));
    forecast.ends.emplace_back(seconds(10 * i + 20));
  }
  EXPECT_EQ(ChanceInTime(forecast), 0.9);
  const StartQuantiles drawn{seconds(10), seconds(50), seconds(90)};
  EXPECT_EQ(ChanceInTime(forecast, drawn, drawn), 0.9);
  EXPECT_EQ(ChanceInTime(forecast, drawn, {seconds(40), seconds(80), seconds(120)}), 0.6);
  EXPECT_EQ(ChanceInTime(forecast, drawn, {seconds(0), seconds(20), seconds(60)}), 1);
  // Twice as wide to the late side: the early draws stay.
  EXPECT_EQ(ChanceInTime(forecast, drawn, {seconds(10), seconds(50), seconds(170)}), 0.6);
  // A start is not before the moment of the forecast.
  forecast.deadline = seconds(19);
  EXPECT_EQ(ChanceInTime(forecast, drawn, {seconds(0), seconds(0), seconds(0)}), 0);
  forecast.starts[0] = forecast.ends[0] = std::nullopt;
  forecast.deadline = seconds(1'000);
  EXPECT_EQ(ChanceInTime(forecast), 0.9);
  forecast.deadline.reset();
  EXPECT_EQ(ChanceInTime(forecast), std::nullopt);
}

TEST_F(ForecastTest, PreemptedJobRestartsFromItsBeginning) {
  AddQueue(cluster_, "a", 4);
  Add(RunningWorkload("low", "a", 4, 50), 70, 70);
  api::Workload high = WaitingWorkload("high", "a", 4);
  high.spec.priority = 100;
  Add(high, 10, 10);
  Add(WaitingWorkload("last", "a", 4, 5), 1, 1);
  options_.until = ForecastUntil::kFinished;
  const Forecast forecast = Make();
  EXPECT_EQ(Of(forecast, "high").starts, Starts(10, seconds(0)));
  EXPECT_EQ(Of(forecast, "low").preemptions, std::vector<std::int32_t>(10, 1));
  // It had run for 50 of 120 seconds.
  EXPECT_EQ(Of(forecast, "last").starts, Starts(10, seconds(130)));
}

// What a stopped job had run is ahead of it once more, and what was left.
TEST_F(ForecastTest, EvictedJobRestartsFromItsBeginning) {
  AddQueue(cluster_, "a", 4);
  api::Workload stopped = RunningWorkload("stopped", "a", 4, 5400);
  AddCondition(stopped, api::kEvicted, true, api::kNodeFailures, 0);
  Add(stopped, 600, 600);
  Add(WaitingWorkload("next", "a", 4, 5), 1, 1);
  const Forecast forecast = Make();
  EXPECT_EQ(Of(forecast, "next").starts, Starts(10, seconds(6000)));
}

TEST_F(ForecastTest, JobAboveTheQuotaNeverStartsAndHasAReason) {
  AddQueue(cluster_, "a", 4);
  Add(RunningWorkload("running", "a", 4, 1), 60, 60);
  Add(WaitingWorkload("big", "a", 8), 30, 30);
  const Forecast forecast = Make();
  EXPECT_EQ(Of(forecast, "big").Started(), 0);
  EXPECT_EQ(Of(forecast, "big").At(0.1), std::nullopt);
  EXPECT_EQ(Of(forecast, "big").why,
            "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor "
            "default, previously considered podsets requests (0) + current podset request (8) > "
            "maximum capacity (4)");
}

TEST_F(ForecastTest, ReasonNamesALocalQueueThatDoesNotExist) {
  AddQueue(cluster_, "a", 4);
  Add(WaitingWorkload("lost", "b", 1), 30, 30);
  EXPECT_EQ(Of(Make(), "lost").why, "LocalQueue team/b does not exist");
}

TEST_F(ForecastTest, TheDrawsCoverTheDistributionEvenly) {
  AddQueue(cluster_, "a", 4);
  Add(RunningWorkload("running", "a", 4, 5), 0, 1000);
  Add(WaitingWorkload("next", "a", 4), 30, 30);
  options_.draws = 100;
  const Forecast forecast = Make();
  const JobForecast& next = Of(forecast, "next");
  EXPECT_NEAR(std::chrono::duration<double>(*next.At(0.1)).count(), 100, 11);
  EXPECT_NEAR(std::chrono::duration<double>(*next.At(0.5)).count(), 500, 11);
  EXPECT_NEAR(std::chrono::duration<double>(*next.At(0.9)).count(), 900, 11);
}

TEST_F(ForecastTest, SeedGivesOneForecastWhateverOtherQueuesHold) {
  AddQueue(cluster_, "a", 4);
  AddQueue(cluster_, "b", 4);
  Add(RunningWorkload("running", "a", 4, 5), 0, 1000);
  Add(WaitingWorkload("next", "a", 4), 30, 90);
  const Starts once = Of(Make(), "next").starts;
  EXPECT_EQ(Of(Make(), "next").starts, once);
  Add(WaitingWorkload("elsewhere", "b", 4), 30, 90);
  EXPECT_EQ(Of(Make(), "next").starts, once);
  options_.seed = 2;
  EXPECT_NE(Of(Make(), "next").starts, once);
}

TEST_F(ForecastTest, JobWaitsForCapacityAfterItsReservation) {
  AddQueue(cluster_, "a", 4);
  Add(RunningWorkload("running", "a", 4, 5), 100, 100);
  Add(WaitingWorkload("next", "a", 4), 30, 30);
  Add(WaitingWorkload("after", "a", 4, 5), 30, 30);
  capacity_["uid-next"] = {seconds(10), seconds(10), seconds(10)};
  options_.draws = 1;
  const Forecast forecast = Make();
  const Duration wait = *Of(forecast, "next").starts[0] - seconds(100);
  EXPECT_GT(wait, Duration(0));
  EXPECT_LE(wait, seconds(20));
  EXPECT_EQ(Of(forecast, "after").starts[0], seconds(130) + wait);
}

TEST_F(ForecastTest, JobWithAReservationWaitsOnlyForCapacity) {
  AddQueue(cluster_, "a", 4);
  api::Workload reserved = RunningWorkload("reserved", "a", 4, 5);
  AddCondition(reserved, api::kAdmitted, false, "NoChecks", 5);
  Add(reserved, 60, 60);
  Add(WaitingWorkload("next", "a", 4), 1, 1);
  capacity_["uid-reserved"] = {seconds(10), seconds(10), seconds(10)};
  const Forecast forecast = Make();
  const Starts& starts = Of(forecast, "reserved").starts;
  EXPECT_GT(*starts[0], Duration(0));
  EXPECT_LE(*starts[0], seconds(20));
  EXPECT_EQ(*Of(forecast, "next").starts[0], *starts[0] + seconds(60));
}

TEST_F(ForecastTest, EvictedJobReleasesItsQuota) {
  AddQueue(cluster_, "a", 4);
  api::Workload evicted = RunningWorkload("evicted", "a", 4, 5);
  AddCondition(evicted, api::kEvicted, true, "Preempted", 1);
  Add(evicted, 60, 60);
  api::Workload high = WaitingWorkload("high", "a", 4);
  high.spec.priority = 5;
  Add(high, 10, 10);
  const Forecast forecast = Make();
  EXPECT_EQ(Of(forecast, "high").At(0.5), Duration(0));
  EXPECT_EQ(Of(forecast, "evicted").At(0.5), seconds(10));
}

TEST_F(ForecastTest, JobStartsAfterItsBackoff) {
  AddQueue(cluster_, "a", 4);
  api::Workload later = WaitingWorkload("later", "a", 1);
  later.status.requeue_state = {.count = 1, .requeue_at = kNow + seconds(45)};
  AddCondition(later, api::kRequeued, false, "PodsReadyTimeout", 5);
  Add(later, 60, 60);
  EXPECT_EQ(Of(Make(), "later").At(0.5), seconds(45));
}

TEST_F(ForecastTest, DeactivatedAndFinishedWorkloadsHaveNoForecast) {
  AddQueue(cluster_, "a", 4);
  api::Workload off = WaitingWorkload("off", "a", 1);
  off.spec.active = false;
  Add(off, 1, 1);
  api::Workload done = RunningWorkload("done", "a", 4, 9);
  AddCondition(done, api::kFinished, true, api::kSucceeded, 1);
  Add(done, 1, 1);
  Add(WaitingWorkload("next", "a", 4), 1, 1);
  EXPECT_EQ(Of(Make(), "next").At(0.9), Duration(0));
  EXPECT_EQ(jobs_.size(), 1U);
  ASSERT_EQ(standing_.not_queued.size(), 1U);
  EXPECT_EQ(standing_.not_queued[0].why, "is deactivated: spec.active is false");
}

TEST_F(ForecastTest, JoinedPartsEqualTheWholeForecast) {
  AddQueue(cluster_, "a", 4);
  Add(RunningWorkload("first", "a", 4, 10), 100, 900);
  Add(WaitingWorkload("second", "a", 4, 20), 50, 300);
  Add(WaitingWorkload("third", "a", 4, 10), 50, 300);
  const Forecast whole = Make();
  std::vector<Forecast> parts;
  for (const auto& [first, end] : {std::pair(0, 3), std::pair(3, 4), std::pair(4, 10)}) {
    options_.first = first;
    options_.end = end;
    parts.push_back(Make());
    EXPECT_EQ(Of(parts.back(), "third").starts.size(), static_cast<std::size_t>(end - first));
  }
  const Forecast joined = JoinForecasts(std::move(parts));
  for (const char* name : {"second", "third"}) {
    EXPECT_EQ(Of(joined, name).starts, Of(whole, name).starts);
    EXPECT_EQ(Of(joined, name).preemptions, Of(whole, name).preemptions);
  }
}

TEST_F(ForecastTest, ACancelledForecastHasTheDrawsSoFar) {
  AddQueue(cluster_, "a", 4);
  Add(RunningWorkload("first", "a", 4, 10), 100, 900);
  Add(WaitingWorkload("second", "a", 4, 20), 50, 300);
  int asked = 0;
  options_.cancelled = [&asked] { return ++asked > 4; };
  EXPECT_EQ(Of(Make(), "second").starts.size(), 4U);
}

// What is known of runs and of jobs to come: members with the uids of the Workloads, and a past.
class ForecastOfHistoryTest : public ForecastTest {
 protected:
  // Jobs of one CPU that came each half an hour and ran for an hour.
  void AddPast(int days) {
    for (int i = 0; i < days * 48; ++i) {
      const std::int64_t age = 1800 * i + 4000;
      members_.push_back({.uid = "past-" + std::to_string(i),
                          .key = KeyOf("small"),
                          .submitted = Now() - age,
                          .until = Now() - age + 3600,
                          .seconds = 3600,
                          .state = RunState::kEnded});
    }
    since_ = Now() - days * std::int64_t{86'400};
  }

  void AddMember(const api::Workload& workload, const RunKey& key, std::int64_t elapsed) {
    const bool runs = IsRunning(workload);
    members_.push_back({.uid = workload.meta.uid,
                        .key = key,
                        .submitted = SecondsOf(workload.meta.creation_timestamp),
                        .until = Now(),
                        .seconds = elapsed,
                        .state = runs ? RunState::kRuns : RunState::kWaits});
    Add(workload, 0, 0);
  }

  Forecast MakeWithHistory(bool with_arrivals) {
    model_ = RunModel(members_, Now());
    arrivals_ = {};
    arrivals_.jobs.resize(members_.size());
    std::vector<bool> comes;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      comes.push_back(members_[i].state == RunState::kEnded);
      arrivals_.jobs[i].shape = std::make_shared<JobShape>(JobShape{
          .pod_sets = WaitingWorkload("x", "a", 1).spec.pod_sets, .requests = {{"cpu", 1000}}});
    }
    arrivals_.arrivals = Arrivals(model_, comes, since_);
    Cluster cluster = cluster_;
    Prepare(cluster);
    jobs_.clear();
    for (const Job& job : MakeStanding(workloads_, kNow).jobs) {
      ForecastJob& made = jobs_.emplace_back();
      made.job = job;
      for (const std::size_t member : model_.open()) {
        if (members_[member].uid == job.object->meta.uid) made.member = member;
      }
    }
    options_.runs = &model_;
    options_.arrivals = with_arrivals ? &arrivals_ : nullptr;
    return MakeForecast(cluster, jobs_, options_);
  }

  static std::int64_t SecondsOf(WallTime time) {
    return std::chrono::floor<seconds>(time.time_since_epoch()).count();
  }
  static std::int64_t Now() { return SecondsOf(kNow); }

  std::vector<RunMember> members_;
  std::int64_t since_ = 0;
  RunModel model_;
  ForecastArrivals arrivals_;
};

// Four CPUs, one of which is busy for an hour: a job of four waits for all of them. Small jobs
// that come later start at once, and delay it.
TEST_F(ForecastOfHistoryTest, SmallJobsThatArriveLaterDelayAWideJob) {
  AddQueue(cluster_, "a", 4);
  AddPast(7);
  options_.draws = 20;
  AddMember(RunningWorkload("running", "a", 1, 0), KeyOf("small"), 0);
  AddMember(WaitingWorkload("wide", "a", 4), KeyOf("wide", 4), 0);
  const auto alone = Of(MakeWithHistory(false), "wide").At(0.5);
  ASSERT_TRUE(alone);
  EXPECT_LT(*alone, std::chrono::hours(2));
  const JobForecast among = Of(MakeWithHistory(true), "wide");
  ASSERT_TRUE(among.At(0.9));
  EXPECT_GT(*among.At(0.5), *alone);
  EXPECT_GT(*among.At(0.9), 2 * *alone);
  // The forecast ends with the jobs of the cluster, and says nothing of those to come.
  options_.until = ForecastUntil::kFinished;
  EXPECT_EQ(Of(MakeWithHistory(true), "wide").starts, among.starts);
}

TEST_F(ForecastOfHistoryTest, LastJobOfAQueueDelaysNoOtherJob) {
  AddQueue(cluster_, "a", 2);
  AddPast(3);
  AddMember(RunningWorkload("running", "a", 2, 100), KeyOf("small"), 100);
  for (const char* name : {"first-1", "second-2", "third-3"}) {
    AddMember(WaitingWorkload(name, "a", 2, 50), KeyOf(name, 2), 0);
  }
  options_.draws = 20;
  const Forecast before = MakeWithHistory(false);
  std::map<std::string, std::vector<std::optional<Duration>>> starts;
  for (const char* name : {"first-1", "second-2", "third-3"})
    starts[name] = Of(before, name).starts;
  AddMember(WaitingWorkload("fourth-4", "a", 2, 5), KeyOf("fourth-4", 2), 0);
  const Forecast after = MakeWithHistory(false);
  for (const auto& [name, known] : starts) EXPECT_EQ(Of(after, name).starts, known) << name;
}

}  // namespace
}  // namespace berth::simulation

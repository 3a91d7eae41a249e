// Goal: a workload that has run for the time slice of its queue gives its quota to a waiting equal
// and waits behind the others; workloads of other priorities and queues keep Kueue's rules; a
// workload without checkpoints gets longer slices. Method: worlds of a few workloads, cycle by
// cycle; a random world for the turns of many.
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/policies/victim_rules.h"
#include "api/checkpoint.h"
#include "api/condition.h"
#include "api/queue_policy.h"
#include "api/reasons.h"
#include "base/random.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using support::KeyOf;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;

constexpr minutes kSlice(10);

// A job that saves its state every minute.
api::Workload SavedJob(const std::string& name, std::int32_t gpus = 1, std::int32_t priority = 0) {
  api::Workload workload = MakeJob(name, "q", gpus, {{"gpu", 1}}, priority);
  workload.meta.annotations[api::kCheckpointEveryAnnotation] = "1m";
  return workload;
}

// The queue "q" with time slices of kSlice.
class TimeSlicesTest : public ::testing::Test {
 protected:
  void Begin(api::Amount gpus, const api::QueuePreemption& preemption = {},
             const std::optional<FairSharing>& fair_sharing = std::nullopt) {
    api::ClusterQueue queue = MakeQueue("q", "org", {{"f", {{"gpu", gpus}}}});
    queue.spec.preemption = preemption;
    queue.meta.annotations[api::kTimeSliceAnnotation] = "10m";
    SchedulerConfig config;
    config.fair_sharing = fair_sharing;
    world_ =
        std::make_unique<TableWorld>(std::vector<std::string>{"f"}, std::vector{queue}, config);
  }
  std::string Try(const api::Workload& workload) {
    world_->Apply(workload);
    return world_->Cycle();
  }
  // Stops the victims and starts the workloads that wait for their quota: "b Admitted".
  std::string Replace() {
    world_->ReleaseEvicted();
    world_->WakeUp();
    return world_->Cycle();
  }

  std::unique_ptr<TableWorld> world_;
};

TEST_F(TimeSlicesTest, WorkloadYieldsToAnEqualWhenItsSliceExpires) {
  Begin(1);
  ASSERT_EQ(Try(SavedJob("a")), "a Admitted");
  world_->Advance(minutes(4));
  EXPECT_EQ(Try(SavedJob("b")), "b NoCandidates");
  ASSERT_EQ(world_->Of("b").spared.size(), 1U);
  EXPECT_EQ(world_->Of("b").spared[0].cause, SparedCandidate::Cause::kWithinTimeSlice);
  world_->Advance(minutes(6) - std::chrono::seconds(5));
  EXPECT_EQ(world_->Cycle(), "");
  world_->Advance(std::chrono::seconds(5));
  EXPECT_EQ(world_->Cycle(), "b Preempting");
  EXPECT_EQ(world_->VictimsOf("b"), "a(TimeSliceExpired)");
  EXPECT_THAT(Replace(), testing::HasSubstr("b Admitted"));
}

TEST_F(TimeSlicesTest, YieldedWorkloadWaitsBehindOthers) {
  Begin(1);
  ASSERT_EQ(Try(SavedJob("a")), "a Admitted");
  world_->Advance(minutes(1));
  Try(SavedJob("b"));
  world_->Advance(minutes(1));
  Try(SavedJob("c"));
  std::string turns;
  for (int turn = 0; turn < 6; ++turn) {
    world_->Advance(kSlice);
    for (int cycle = 0; cycle < 3; ++cycle) {
      world_->Cycle();
      for (const Decision& decision : world_->last().decisions) {
        if (decision.outcome == Outcome::kAdmitted) turns += decision.object->meta.name;
      }
      world_->ReleaseEvicted();
      world_->WakeUp();
    }
  }
  EXPECT_EQ(turns, "bcabca");
}

TEST_F(TimeSlicesTest, SliceCountsFromTheAdmissionOfALateWorkload) {
  Begin(2);
  ASSERT_EQ(Try(SavedJob("a")), "a Admitted");
  EXPECT_EQ(Try(SavedJob("wide", 2)), "wide NoCandidates");
  world_->Advance(minutes(5));
  ASSERT_EQ(Try(SavedJob("b")), "b Admitted");  // started while "wide" was set aside
  world_->Advance(minutes(5));
  EXPECT_EQ(world_->Cycle(), "wide NoCandidates");
  world_->Advance(minutes(5));
  EXPECT_EQ(world_->Cycle(), "wide Preempting");
  EXPECT_EQ(world_->VictimsOf("wide"), "a(TimeSliceExpired) b(TimeSliceExpired)");
}

TEST_F(TimeSlicesTest, OtherPrioritiesKeepTheRulesOfTheQueue) {
  Begin(1);
  ASSERT_EQ(Try(SavedJob("low")), "low Admitted");
  world_->Advance(hours(5));
  EXPECT_EQ(Try(SavedJob("high", 1, 10)), "high NoCandidates");
  world_->Finish(KeyOf("low"));
  world_->WakeUp();
  ASSERT_EQ(world_->Cycle(), "high Admitted");
  world_->Advance(hours(5));
  EXPECT_EQ(Try(SavedJob("next")), "next NoCandidates");
}

TEST_F(TimeSlicesTest, LowerPriorityIsPreemptedForItsPriority) {
  api::QueuePreemption lower;
  lower.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
  Begin(2, lower);
  ASSERT_EQ(Try(SavedJob("low")), "low Admitted");
  ASSERT_EQ(Try(SavedJob("equal", 1, 10)), "equal Admitted");
  world_->Advance(hours(1));
  EXPECT_EQ(Try(SavedJob("head", 2, 10)), "head Preempting");
  EXPECT_EQ(world_->VictimsOf("head"), "equal(TimeSliceExpired) low(InClusterQueue)");
}

TEST_F(TimeSlicesTest, FairSharingKeepsTimeSlices) {
  Begin(1, {}, FairSharing());
  ASSERT_EQ(Try(SavedJob("a")), "a Admitted");
  world_->Advance(kSlice);
  EXPECT_EQ(Try(SavedJob("b")), "b Preempting");
  EXPECT_EQ(world_->VictimsOf("b"), "a(TimeSliceExpired)");
}

TEST_F(TimeSlicesTest, SliceDoublesAfterExpiries) {
  struct Row {
    const char* every;  // checkpoints of "a"
    int expired;
    minutes slice;
  };
  for (const Row& row :
       {Row{"", 0, kSlice}, Row{"", 1, 2 * kSlice}, Row{"", 3, 8 * kSlice}, Row{"5m", 7, kSlice},
        Row{"5m", 8, 2 * kSlice}, Row{"6m", 3, 8 * kSlice}}) {
    SCOPED_TRACE(std::string(row.every) + " " + std::to_string(row.expired));
    Begin(1);
    api::Workload a = MakeJob("a", "q", 1, {{"gpu", 1}});
    if (*row.every != '\0') a.meta.annotations[api::kCheckpointEveryAnnotation] = row.every;
    if (row.expired > 0) {
      a.status.evictions = {{api::kPreempted, api::kTimeSliceExpired, row.expired},
                            {api::kPreempted, api::kInClusterQueue, 5}};
    }
    ASSERT_EQ(Try(a), "a Admitted");
    world_->Advance(row.slice - minutes(1));
    EXPECT_EQ(Try(SavedJob("b")), "b NoCandidates");
    world_->Advance(minutes(1));
    EXPECT_EQ(world_->Cycle(), "b Preempting");
  }
}

// Five jobs have run for long, and one arrives: one of them is stopped for it, and within the next
// slice no other.
TEST_F(TimeSlicesTest, OneArrivalStopsOneJob) {
  Begin(5);
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    ASSERT_EQ(Try(SavedJob(name)), std::string(name) + " Admitted");
    world_->Advance(minutes(1));
  }
  world_->Advance(hours(5));
  ASSERT_EQ(Try(SavedJob("late")), "late Preempting");
  EXPECT_EQ(world_->VictimsOf("late"), "a(TimeSliceExpired)");  // its slice ended first
  int preemptions = 0;
  for (int minute = 0; minute < 9; ++minute) {
    world_->ReleaseEvicted();
    world_->WakeUp();
    world_->Cycle();
    for (const Decision& decision : world_->last().decisions) {
      if (decision.outcome == Outcome::kPreempting) ++preemptions;
    }
    world_->Advance(minutes(1));
  }
  EXPECT_EQ(preemptions, 0);
  world_->Advance(minutes(1));
  EXPECT_EQ(world_->Cycle(), "a Preempting");
  EXPECT_EQ(world_->VictimsOf("a"), "b(TimeSliceExpired)");
}

// Small jobs would take each expired slice before the wide job has two of them.
TEST_F(TimeSlicesTest, WideJobIsNotOvertakenByTheTurnsOfSmallOnes) {
  Begin(2);
  ASSERT_EQ(Try(SavedJob("a")), "a Admitted");
  world_->Advance(minutes(5));
  ASSERT_EQ(Try(SavedJob("b")), "b Admitted");
  EXPECT_EQ(Try(SavedJob("wide", 2)), "wide NoCandidates");
  world_->Advance(minutes(1));
  EXPECT_EQ(Try(SavedJob("small")), "small NoCandidates");
  world_->Advance(minutes(4));
  std::string tried = world_->Cycle();  // the slice of "a" has expired
  while (world_->HasHeads()) tried += ", " + world_->Cycle();
  EXPECT_THAT(tried, testing::Not(testing::HasSubstr("Preempting")));
  world_->Advance(minutes(5));
  EXPECT_EQ(world_->Cycle(), "wide Preempting");
  EXPECT_EQ(world_->VictimsOf("wide"), "a(TimeSliceExpired) b(TimeSliceExpired)");
}

// An older equal preempts a newer one by the rule of the queue; the newer one has its turn later.
TEST_F(TimeSlicesTest, PreemptedEqualTakesItsTurnFromItsPreemptor) {
  api::QueuePreemption newer;
  newer.within_cluster_queue = api::PreemptionPolicy::kLowerOrNewerEqualPriority;
  Begin(2, newer);
  ASSERT_EQ(Try(SavedJob("high", 2, 10)), "high Admitted");
  EXPECT_EQ(Try(SavedJob("old", 2)), "old NoCandidates");
  world_->Advance(minutes(1));
  EXPECT_EQ(Try(SavedJob("new", 1)), "new NoCandidates");
  world_->Finish(KeyOf("high"));
  world_->WakeUp();
  while (world_->HasHeads()) world_->Cycle();
  world_->Advance(kSlice);
  EXPECT_EQ(world_->Cycle(), "new Preempting");
  EXPECT_EQ(world_->VictimsOf("new"), "old(TimeSliceExpired)");
}

// The waiting job was set aside while no equal ran.
TEST_F(TimeSlicesTest, AdmissionOfAnEqualWakesAJobThatWasSetAside) {
  Begin(2);
  ASSERT_EQ(Try(SavedJob("high", 1, 10)), "high Admitted");
  EXPECT_EQ(Try(SavedJob("wide", 2)), "wide NoCandidates");
  ASSERT_EQ(Try(SavedJob("small")), "small Admitted");
  world_->Finish(KeyOf("high"));
  world_->Advance(kSlice - minutes(1));
  EXPECT_EQ(world_->Cycle(), "");
  world_->Advance(minutes(1));
  EXPECT_EQ(world_->Cycle(), "wide Preempting");
}

// Each job of a queue whose jobs never end gets its turns; no more jobs are stopped than wait.
TEST_F(TimeSlicesTest, ManyEqualsTakeTurns) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const int room = static_cast<int>(1 + random.Below(4));
    const int waiting = static_cast<int>(1 + random.Below(6));
    const int jobs = room + waiting;
    Begin(room);
    for (int i = 0; i < jobs; ++i) {
      world_->Apply(SavedJob("j" + std::to_string(i)));
      world_->Advance(std::chrono::seconds(random.Below(200)));
    }
    std::map<std::string, WallTime> started;
    std::map<std::string, int> turns;
    int preemptions = 0;
    constexpr int kSlices = 30;
    // A turn lasts a slice, and at most a minute each until the next look and the next start.
    const WallTime end = world_->now() + kSlices * (kSlice + minutes(2));
    while (world_->now() < end) {
      world_->Advance(minutes(1));
      world_->Cycle();
      for (const Decision& decision : world_->last().decisions) {
        for (const Victim& victim : decision.victims) {
          const std::string& name = victim.object->meta.name;
          EXPECT_TRUE(victim.ongoing || world_->now() - started.at(name) >= kSlice) << name;
          if (!victim.ongoing) ++preemptions;
        }
        if (decision.outcome != Outcome::kAdmitted) continue;
        started[decision.object->meta.name] = world_->now();
        ++turns[decision.object->meta.name];
      }
      world_->ReleaseEvicted();
      world_->WakeUp();
    }
    const int in_a_slice = std::min(room, waiting);
    EXPECT_LE(preemptions, (kSlices * (kSlice + minutes(2)) / kSlice + 1) * in_a_slice);
    EXPECT_EQ(turns.size(), static_cast<std::size_t>(jobs));
    for (const auto& [name, count] : turns)
      EXPECT_GE(count, std::min(7, kSlices * in_a_slice / jobs - 2)) << name;
  }
}

}  // namespace
}  // namespace berth::admission

// Goal: policies of queues choose the victims that lose the least work, put off preemptions that
// lose more than they gain, and spare workloads that have just begun; without a policy Kueue's
// order holds. Method: worlds of a few workloads, cycle by cycle.
#include "admission/policies/victim_rules.h"

#include <chrono>
#include <memory>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/checkpoint.h"
#include "api/queue_policy.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using support::KeyOf;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;

api::Workload TimedJob(const std::string& name, const std::string& queue, std::int32_t gpus,
                       std::optional<minutes> most = std::nullopt, std::int32_t priority = 0) {
  api::Workload workload = MakeJob(name, queue, gpus, {{"gpu", 1}}, priority);
  if (most) {
    workload.spec.maximum_execution_time_seconds =
        static_cast<std::int32_t>(std::chrono::seconds(*most).count());
  }
  return workload;
}

// "owner" owns all GPUs and reclaims them from "guest", which owns none.
class VictimRulesTest : public ::testing::Test {
 protected:
  static api::ClusterQueue MakeQueueWith(const std::string& name, api::Amount gpus,
                                         const api::StringMap& annotations) {
    api::ClusterQueue queue = MakeQueue(name, "org", {{"f", {{"gpu", gpus}}}});
    queue.meta.annotations = annotations;
    if (gpus == 0) return queue;
    queue.spec.preemption.reclaim_within_cohort = api::PreemptionPolicy::kAny;
    queue.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
    return queue;
  }
  void Begin(api::Amount gpus, const api::StringMap& annotations) {
    world_ = std::make_unique<TableWorld>(std::vector<std::string>{"f"},
                                          std::vector{MakeQueueWith("owner", gpus, annotations),
                                                      MakeQueueWith("guest", 0, annotations)});
  }
  std::string Try(const api::Workload& workload) {
    world_->Apply(workload);
    return world_->Cycle();
  }
  // The names of the victims of the workload's last decision.
  std::vector<std::string> VictimsOf(const std::string& name) {
    std::vector<std::string> names;
    for (const Victim& victim : world_->Of(name).victims) names.push_back(victim.object->meta.name);
    return names;
  }

  // Each cycle of the world takes a millisecond.
  bool NextTurnIsIn(minutes wait) const {
    const std::optional<WallTime> next = world_->scheduler().NextTurn();
    return next && *next <= world_->now() + wait && *next > world_->now() + wait - minutes(1);
  }

  std::unique_ptr<TableWorld> world_;
};

const api::StringMap kLeastWork{{api::kVictimsAnnotation, "LeastWorkLost"}};

TEST_F(VictimRulesTest, LeastWorkLostPrefersASmallVictimToANewWideOne) {
  for (const bool least : {false, true}) {
    Begin(5, least ? kLeastWork : api::StringMap());
    ASSERT_EQ(Try(TimedJob("small", "guest", 1)), "small Admitted");
    world_->Advance(minutes(10));
    ASSERT_EQ(Try(TimedJob("wide", "guest", 4)), "wide Admitted");
    world_->Advance(minutes(10));  // wide has lost 4 × 10 minutes, small 20
    EXPECT_EQ(Try(TimedJob("head", "owner", 1)), "head Preempting");
    EXPECT_THAT(VictimsOf("head"), testing::ElementsAre(least ? "small" : "wide"));
  }
}

// The small one alone makes no room, so that it would be stopped beside the wide one for nothing.
TEST_F(VictimRulesTest, ExpensiveVictimThatSufficesAloneIsTheOnlyOne) {
  Begin(5, kLeastWork);
  ASSERT_EQ(Try(TimedJob("small", "guest", 1)), "small Admitted");
  ASSERT_EQ(Try(TimedJob("wide", "guest", 4)), "wide Admitted");
  world_->Advance(minutes(10));
  EXPECT_EQ(Try(TimedJob("head", "owner", 4)), "head Preempting");
  EXPECT_THAT(VictimsOf("head"), testing::ElementsAre("wide"));
}

TEST_F(VictimRulesTest, LowerPriorityIsPreemptedBeforeLessLostWork) {
  Begin(2, kLeastWork);
  ASSERT_EQ(Try(TimedJob("old-low", "guest", 1)), "old-low Admitted");
  world_->Advance(hours(5));
  ASSERT_EQ(Try(TimedJob("new-high", "guest", 1, std::nullopt, 10)), "new-high Admitted");
  EXPECT_EQ(Try(TimedJob("head", "owner", 1)), "head Preempting");
  EXPECT_THAT(VictimsOf("head"), testing::ElementsAre("old-low"));
}

TEST_F(VictimRulesTest, CheckpointsBoundTheWorkThatIsLost) {
  Begin(2, {{api::kVictimsAnnotation, "LeastWorkLost"}, {api::kLeastCheckpointAnnotation, "20m"}});
  api::Workload saved = TimedJob("saved", "guest", 1);
  saved.meta.annotations[api::kCheckpointEveryAnnotation] = "1m";  // counts as 20 minutes
  ASSERT_EQ(Try(saved), "saved Admitted");
  world_->Advance(hours(5));
  ASSERT_EQ(Try(TimedJob("young", "guest", 1)), "young Admitted");
  world_->Advance(minutes(15));
  EXPECT_EQ(Try(TimedJob("first", "owner", 1)), "first Preempting");
  EXPECT_THAT(VictimsOf("first"), testing::ElementsAre("young"));
  world_->Advance(minutes(10));
  Begin(2, {{api::kVictimsAnnotation, "LeastWorkLost"}});
  ASSERT_EQ(Try(saved), "saved Admitted");
  world_->Advance(hours(5));
  ASSERT_EQ(Try(TimedJob("young", "guest", 1)), "young Admitted");
  world_->Advance(minutes(15));
  EXPECT_EQ(Try(TimedJob("second", "owner", 1)), "second Preempting");
  EXPECT_THAT(VictimsOf("second"), testing::ElementsAre("saved"));
}

// Jobs of an hour that claim checkpoints each minute and begin anew after each stop.
class FalseClaimTest : public VictimRulesTest {
 protected:
  static api::Workload Claiming(const std::string& name) {
    api::Workload job = TimedJob(name, "guest", 1);
    job.meta.annotations[api::kCheckpointEveryAnnotation] = "1m";
    return job;
  }
  void RunWhole(const std::string& name) {
    ASSERT_EQ(Try(Claiming(name)), name + " Admitted");
    world_->Advance(hours(1));
    world_->Finish(KeyOf(name));
    world_->WakeUp();
  }
  // The job is stopped after half an hour.
  void RunWithAStop(const std::string& name) {
    ASSERT_EQ(Try(Claiming(name)), name + " Admitted");
    world_->Advance(minutes(30));
    const std::string head = "head-of-" + name;
    ASSERT_EQ(Try(TimedJob(head, "owner", 2)), head + " Preempting");
    world_->Release(KeyOf(name));
    ASSERT_THAT(world_->Cycle(), testing::StartsWith(head + " Admitted"));
    world_->Finish(KeyOf(head));
    world_->WakeUp();
    ASSERT_EQ(world_->Cycle(), name + " Admitted");
    world_->Advance(hours(1));
    world_->Finish(KeyOf(name));
    world_->WakeUp();
  }
};

TEST_F(FalseClaimTest, WhatStopsHaveCostCountsInPlaceOfTheClaim) {
  Begin(2, kLeastWork);
  for (const char* name : {"a", "b", "c", "d", "e"}) RunWhole(name);
  for (const char* name : {"f", "g"}) RunWithAStop(name);
  for (const bool measured : {false, true}) {
    SCOPED_TRACE(measured);
    if (measured) RunWithAStop("h");  // the third: a stop costs half an hour
    const std::string suffix = measured ? "-measured" : "";
    ASSERT_EQ(Try(Claiming("saved" + suffix)), "saved" + suffix + " Admitted");
    world_->Advance(hours(5));
    ASSERT_EQ(Try(TimedJob("young" + suffix, "guest", 1)), "young" + suffix + " Admitted");
    world_->Advance(minutes(15));
    EXPECT_EQ(Try(TimedJob("head" + suffix, "owner", 1)), "head" + suffix + " Preempting");
    EXPECT_THAT(VictimsOf("head" + suffix),
                testing::ElementsAre((measured ? "young" : "saved") + suffix));
    for (const char* name : {"head", "saved", "young"}) {
      world_->DeleteWorkload(KeyOf(name + suffix));
    }
  }
}

TEST_F(VictimRulesTest, PreemptionThatLosesMoreThanItGainsWaitsForItsPatience) {
  Begin(4, {{api::kPreemptionPatienceAnnotation, "30m"}});
  ASSERT_EQ(Try(TimedJob("wide", "guest", 4)), "wide Admitted");
  world_->Advance(hours(1));
  EXPECT_EQ(Try(TimedJob("head", "owner", 1, minutes(60))), "head Skipped");
  EXPECT_THAT(world_->MessageOf("head"), testing::HasSubstr("would lose more than a quarter"));
  EXPECT_TRUE(NextTurnIsIn(minutes(30)));
  world_->Advance(minutes(29));
  EXPECT_EQ(world_->Cycle(), "");
  world_->Advance(minutes(1));
  EXPECT_EQ(world_->Cycle(), "head Preempting");
}

// "wide" has done four hours of work.
TEST_F(VictimRulesTest, PreemptionThatGainsFourTimesWhatItLosesDoesNotWait) {
  for (const bool enough : {false, true}) {
    Begin(4, {{api::kPreemptionPatienceAnnotation, "30m"}});
    ASSERT_EQ(Try(TimedJob("wide", "guest", 4)), "wide Admitted");
    world_->Advance(hours(1));
    EXPECT_EQ(Try(TimedJob("head", "owner", 1, enough ? minutes(961) : minutes(959))),
              enough ? "head Preempting" : "head Skipped");
  }
}

TEST_F(VictimRulesTest, WaitingPreemptorStartsWhenQuotaIsReleased) {
  Begin(4, {{api::kPreemptionPatienceAnnotation, "30m"}});
  ASSERT_EQ(Try(TimedJob("wide", "guest", 3)), "wide Admitted");
  ASSERT_EQ(Try(TimedJob("small", "guest", 1)), "small Admitted");
  world_->Advance(hours(3));
  EXPECT_EQ(Try(TimedJob("head", "owner", 1, minutes(60))), "head Skipped");
  world_->Finish(KeyOf("small"));
  world_->WakeUp();
  EXPECT_EQ(world_->Cycle(), "head Admitted");
}

TEST_F(VictimRulesTest, AWorkloadThatHasJustBegunIsNotReclaimed) {
  Begin(2, {{api::kReclaimMinRunAnnotation, "10m"}});
  ASSERT_EQ(Try(TimedJob("guest-job", "guest", 2)), "guest-job Admitted");
  world_->Advance(minutes(4));
  EXPECT_EQ(Try(TimedJob("head", "owner", 1)), "head NoCandidates");
  ASSERT_EQ(world_->Of("head").spared.size(), 1U);
  EXPECT_EQ(world_->Of("head").spared[0].cause, SparedCandidate::Cause::kHasJustBegun);
  EXPECT_TRUE(NextTurnIsIn(minutes(6)));
  world_->Advance(minutes(6));
  EXPECT_EQ(world_->Cycle(), "head Preempting");
}

TEST_F(VictimRulesTest, MinimumRunTimeWithinAQueueIsSeparate) {
  Begin(2, {{api::kReclaimMinRunAnnotation, "10m"}, {api::kPreemptMinRunAnnotation, "2m"}});
  ASSERT_EQ(Try(TimedJob("low", "owner", 2)), "low Admitted");
  world_->Advance(minutes(1));
  EXPECT_EQ(Try(TimedJob("high", "owner", 1, std::nullopt, 10)), "high NoCandidates");
  world_->Advance(minutes(1));
  EXPECT_EQ(world_->Cycle(), "high Preempting");
}

TEST_F(VictimRulesTest, RemovedRuleWakesTheWorkloadItHeldBack) {
  Begin(2, {{api::kReclaimMinRunAnnotation, "10h"}});
  ASSERT_EQ(Try(TimedJob("guest-job", "guest", 2)), "guest-job Admitted");
  EXPECT_EQ(Try(TimedJob("head", "owner", 1)), "head NoCandidates");
  world_->Apply(MakeQueue("guest", "org", {{"f", {{"gpu", 0}}}}));
  world_->WakeUp();
  EXPECT_EQ(world_->Cycle(), "head Preempting");
}

}  // namespace
}  // namespace berth::admission

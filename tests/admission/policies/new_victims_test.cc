// Goal: a workload is not preempted within a minute of its admission by one that waited then; a
// preemptor that came later is not held, and none is held for more than one minute in ten. The end
// of a victim is expected where runs are short.
// Method: an owner whose waiting job becomes able to reclaim when another job of the owner ends;
// cycle by cycle, with the rule and without it.
#include "admission/policies/new_victims.h"

#include <memory>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using std::chrono::seconds;
using support::KeyOf;
using support::MakeJob;
using support::MakeOrgQueue;
using support::TableWorld;

class NewVictimsTest : public ::testing::Test {
 protected:
  // A job of the guest has run for five minutes. "own" runs on half of the owner's GPUs. "wide"
  // needs all of them: it cannot reclaim before "own" has ended.
  void Begin(bool has_rule) {
    SchedulerConfig config;
    config.own_rules.spare_the_just_admitted = has_rule;
    world_ = std::make_unique<TableWorld>(
        std::vector<std::string>{"f"},
        std::vector{MakeOrgQueue("owner", 4, api::PreemptionPolicy::kAny),
                    MakeOrgQueue("guest", 0)},
        config);
    ASSERT_EQ(Try("earlier", "guest", 2), "earlier Admitted");
    world_->Advance(seconds(300));
    world_->Finish(KeyOf("earlier"));
    world_->WakeUp();
    ASSERT_EQ(Try("own", "owner", 2), "own Admitted");
    ASSERT_THAT(Try("wide", "owner", 4), testing::StartsWith("wide No"));
    world_->Advance(seconds(10));
    ASSERT_EQ(Try("guest-1", "guest", 2), "guest-1 Admitted");
  }
  std::string Try(const std::string& name, const std::string& queue, std::int32_t gpus) {
    world_->Apply(MakeJob(name, queue, gpus, {{"gpu", 1}}));
    return world_->Cycle();
  }
  std::string End(const std::string& name) {
    world_->Finish(KeyOf(name));
    world_->WakeUp();
    return world_->Cycle();
  }
  std::string After(seconds time) {
    world_->Advance(time);
    world_->WakeUp();
    return world_->Cycle();
  }

  std::unique_ptr<TableWorld> world_;
};

TEST_F(NewVictimsTest, PreemptorThatWaitedAtTheAdmissionWaitsForTheRestOfAMinute) {
  Begin(true);
  world_->Advance(seconds(20));
  EXPECT_EQ(End("own"), "wide Skipped");
  EXPECT_EQ(world_->Of("wide").remark, Remark::kVictimJustAdmitted);
  EXPECT_THAT(world_->MessageOf("wide"), testing::HasSubstr("admitted less than a minute ago"));
  ASSERT_EQ(world_->Of("wide").spared.size(), 1U);
  EXPECT_EQ(world_->Of("wide").spared[0].cause, SparedCandidate::Cause::kJustAdmitted);
  EXPECT_EQ(RuleBehind(world_->Of("wide")), "spare-the-just-admitted");
  const auto turn = world_->scheduler().NextTurn();
  ASSERT_TRUE(turn);
  EXPECT_LE(*turn - world_->now(), seconds(40));
  EXPECT_EQ(After(seconds(35)), "");
  EXPECT_EQ(After(seconds(5)), "wide Preempting");
}

TEST_F(NewVictimsTest, WithoutTheRuleThePreemptionIsImmediate) {
  Begin(false);
  world_->Advance(seconds(20));
  EXPECT_EQ(End("own"), "wide Preempting");
}

TEST_F(NewVictimsTest, VictimThatHasRunForAMinuteIsPreemptedAtOnce) {
  Begin(true);
  world_->Advance(seconds(61));
  EXPECT_EQ(End("own"), "wide Preempting");
}

TEST_F(NewVictimsTest, PreemptorThatCameAfterTheAdmissionIsNotHeld) {
  Begin(true);
  world_->Advance(seconds(5));
  EXPECT_EQ(Try("late", "owner", 1), "late Preempting");
}

TEST_F(NewVictimsTest, HeldPreemptorStartsWhenTheVictimEnds) {
  Begin(true);
  ASSERT_EQ(End("own"), "wide Skipped");
  world_->Advance(seconds(20));
  EXPECT_EQ(End("guest-1"), "wide Admitted");
}

// A preemptor that waits since the 50th second, and one victim. Instants are seconds.
class HeldPreemptorTest : public ::testing::Test {
 protected:
  static constexpr ClusterQueueId kGuest = 5;  // the victim's queue
  static constexpr ClusterQueueId kOther = 4;

  HeldPreemptorTest() {
    victim_.object = std::make_shared<api::Workload>();
    victim_.cluster_queue = kGuest;
    victim_.admitted = true;
  }
  void AdmitVictimAt(int second) { victim_.reserved_at = WallTime(seconds(second)); }
  std::optional<WallTime> HeldUntil(WorkloadId preemptor, int now) {
    return victims_.HeldUntil(preemptor, WallTime(seconds(50)),
                              {{&victim_, PreemptionReason::kInCohortReclamation}},
                              WallTime(seconds(now)));
  }

  NewVictims victims_;
  Reservation victim_;
};

// Three jobs of the guest's queue have run for a second each, then one for four minutes.
TEST_F(HeldPreemptorTest, VictimsOfAQueueWithShortRunsAreNotSpared) {
  AdmitVictimAt(100);
  EXPECT_EQ(HeldUntil(1, 110), std::nullopt) << "nothing has ended";
  for (int i = 0; i < 3; ++i) victims_.NoteRun(kGuest, seconds(1));
  EXPECT_EQ(HeldUntil(1, 110), std::nullopt);
  victims_.NoteRun(kGuest, seconds(240));
  EXPECT_EQ(HeldUntil(1, 110), WallTime(seconds(160)));
  victims_.NoteRun(kOther, seconds(1));
  EXPECT_EQ(HeldUntil(2, 110), WallTime(seconds(160))) << "runs of another queue";
}

// "guest-2" comes 50 s after the preemption was held first: it is not spared for a minute of its
// own.
TEST_F(NewVictimsTest, NewVictimsHoldNoPreemptorForLongerThanAMinute) {
  Begin(true);
  ASSERT_EQ(End("own"), "wide Skipped");
  world_->Advance(seconds(50));
  world_->Apply(MakeJob("guest-2", "guest", 2, {{"gpu", 1}}));
  ASSERT_EQ(world_->Cycle(), "guest-2 Admitted") << "wide is parked";
  world_->Finish(KeyOf("guest-1"));
  world_->WakeUp();
  EXPECT_EQ(world_->Cycle(), "wide Skipped");
  EXPECT_EQ(After(seconds(10)), "wide Preempting");
}

TEST_F(HeldPreemptorTest, APreemptorIsHeldForOneMinuteInTen) {
  victims_.NoteRun(kGuest, seconds(300));
  AdmitVictimAt(100);
  EXPECT_EQ(HeldUntil(1, 110), WallTime(seconds(160)));
  AdmitVictimAt(165);
  EXPECT_EQ(HeldUntil(1, 166), WallTime(seconds(170)));
  AdmitVictimAt(600);
  EXPECT_EQ(HeldUntil(1, 601), std::nullopt);
  AdmitVictimAt(709);
  EXPECT_EQ(HeldUntil(1, 710), WallTime(seconds(769)));
}

TEST_F(HeldPreemptorTest, AnEndIsExpectedWhereRunsAreShort) {
  const auto soon_done_at = [this](int now) {
    return victims_.SoonDoneAt(victim_, WallTime(seconds(now)));
  };
  AdmitVictimAt(100);
  for (int i = 0; i < 4; ++i) victims_.NoteRun(kGuest, seconds(3));
  EXPECT_EQ(soon_done_at(101), std::nullopt) << "too few runs";
  victims_.NoteRun(kGuest, seconds(3));
  EXPECT_EQ(soon_done_at(101), WallTime(seconds(108)));
  victim_.cluster_queue = 6;
  EXPECT_EQ(soon_done_at(101), WallTime(seconds(108))) << "a queue without runs";
  victim_.cluster_queue = kGuest;
  EXPECT_EQ(soon_done_at(108), std::nullopt) << "runs for longer than the others";
  victims_.NoteRun(kOther, seconds(300));
  EXPECT_EQ(soon_done_at(101), WallTime(seconds(108))) << "runs of another queue";
  victim_.cluster_queue = 6;
  EXPECT_EQ(soon_done_at(101), std::nullopt) << "the runs of all queues";
  victim_.cluster_queue = kGuest;
  victim_.evicted = true;
  EXPECT_EQ(soon_done_at(101), std::nullopt);
  victim_.evicted = false;
  victims_.NoteRun(kGuest, seconds(60));
  EXPECT_EQ(soon_done_at(101), std::nullopt) << "long runs";
}

TEST_F(HeldPreemptorTest, WorkloadThatHasStartedIsForgotten) {
  victims_.NoteRun(kGuest, seconds(300));
  AdmitVictimAt(165);
  HeldUntil(1, 166);
  EXPECT_EQ(HeldUntil(1, 226), std::nullopt);
  AdmitVictimAt(225);
  EXPECT_EQ(HeldUntil(1, 226), std::nullopt);
  victims_.Forget(1);
  EXPECT_EQ(HeldUntil(1, 226), WallTime(seconds(285)));
}

}  // namespace
}  // namespace berth::admission

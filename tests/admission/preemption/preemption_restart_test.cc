// Goal: a preemptor keeps the quota that it freed across a restart, and an annotation
// that the scheduler did not write, or that is outdated, does no harm
// (docs/reference/differences.md, preemptor-keeps-what-it-freed). Method: one scheduler preempts,
// another one gets the objects and the written plan; tables of plans that are believed or
// not.
#include <functional>

#include <gtest/gtest.h>

#include "api/condition.h"
#include "api/reasons.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using namespace std::chrono_literals;
using api::PreemptionPolicy;
using support::KeyOf;
using support::MakeJob;
using support::MakeOrgQueue;
using support::TableWorld;

std::string TextOf(const CycleResult& result) {
  std::string text;
  for (const Decision& decision : result.decisions) {
    text +=
        (text.empty() ? "" : ", ") + decision.object->meta.name + " " + ToString(decision.outcome);
  }
  return text;
}

// The first decision of another scheduler that gets the objects of `world` and `plan`.
std::string AfterRestart(const TableWorld& world, const std::optional<KeptPlan>& plan,
                         const SchedulerConfig& config = {}) {
  Scheduler next(config);
  Replay(world, next);
  if (plan) next.kept_plans().Restore({{KeyOf("p"), *plan}}, world.now());
  return TextOf(next.RunCycle(world.now()));
}

// p (queue a) asks for four, or two: two are its queue's own. v (queue b, priority 5) has all four.
class PreemptionRestart : public testing::Test {
 protected:
  PreemptionRestart()
      : world_({"f"}, {MakeOrgQueue("a", 2, PreemptionPolicy::kAny), MakeOrgQueue("b", 2)}) {
    world_.Apply(MakeJob("v", "b", 4, {{"gpu", 1}}, 5));
    world_.AdmitAll();
    api::Workload wide = MakeJob("p", "a", 4, {{"gpu", 1}});
    wide.spec.pod_sets[0].min_count = 2;
    world_.Apply(wide);
    EXPECT_EQ(world_.Cycle(), "p Preempting");
    plan_ = world_.scheduler().kept_plans().ToKeep(*world_.Find(KeyOf("p")));
  }
  TableWorld world_;
  std::optional<KeptPlan> plan_;
};

TEST_F(PreemptionRestart, StoresThePlansPodSetsAndVictims) {
  ASSERT_TRUE(plan_);
  EXPECT_EQ(plan_->generation, 1);
  EXPECT_EQ(plan_->cluster_queue, "a");
  EXPECT_EQ(plan_->progress_at, CutToSeconds(world_.now()));
  EXPECT_EQ(plan_->pod_sets, (std::vector<KeptPlan::PodSet>{{"main", 2, {{"gpu", "f"}}}}));
  EXPECT_EQ(plan_->victims, (std::vector<KeptPlan::Victim>{{"v", "b", {{"f", {{"gpu", 4}}}}}}));
  EXPECT_FALSE(world_.scheduler().kept_plans().ToKeep(*world_.Find(KeyOf("v"))));
}

TEST_F(PreemptionRestart, PreemptorIsAdmittedOnItsVictimsQuota) {
  EXPECT_EQ(AfterRestart(world_, plan_), "p Preempting") << "v has not stopped";
  world_.ReleaseEvicted();
  EXPECT_EQ(AfterRestart(world_, plan_), "p Admitted, v Skipped");
  EXPECT_EQ(AfterRestart(world_, std::nullopt), "v Admitted, p Skipped") << "in Kueue's way";
}

TEST_F(PreemptionRestart, RestoredPlanTakesNoFurtherVictim) {
  Scheduler next({});
  Replay(world_, next);
  next.kept_plans().Restore({{KeyOf("p"), *plan_}}, world_.now());
  const CycleResult& result = next.RunCycle(world_.now());
  ASSERT_EQ(TextOf(result), "p Preempting");
  ASSERT_EQ(result.decisions[0].victims.size(), 1U);
  EXPECT_EQ(result.decisions[0].victims[0].object->meta.name, "v");
  EXPECT_TRUE(result.decisions[0].victims[0].ongoing);
  EXPECT_TRUE(next.kept_plans().ToKeep(*world_.Find(KeyOf("p")))) << "and it goes on";
}

TEST_F(PreemptionRestart, AVictimNamesItsPreemptor) {
  EXPECT_EQ(PreemptorUidOf(*world_.Find(KeyOf("v"))), "p");
  EXPECT_EQ(PreemptorUidOf(*world_.Find(KeyOf("p"))), "");
  api::Workload other = *world_.Find(KeyOf("v"));
  for (const char* message : {"", "Preempted", "Preempted to accommodate a workload (UID: p"}) {
    for (api::Condition& condition : other.status.conditions) condition.message = message;
    EXPECT_EQ(PreemptorUidOf(other), "") << message;
  }
}

TEST_F(PreemptionRestart, PlanThatDoesNotMatchTheClusterIsNotRestored) {
  world_.ReleaseEvicted();
  const WallTime now = world_.now();
  struct Row {
    const char* what;
    std::function<void(KeptPlan&)> change;
    bool believed = false;
  };
  const Row rows[] = {
      {"as it was written", [](KeptPlan&) {}, true},
      {"for all its pods", [](KeptPlan& plan) { plan.pod_sets[0].count = 4; }, true},
      {"for more pods than it has", [](KeptPlan& plan) { plan.pod_sets[0].count = 5; }},
      {"for fewer pods than its least", [](KeptPlan& plan) { plan.pod_sets[0].count = 1; }},
      {"for no pod set", [](KeptPlan& plan) { plan.pod_sets.clear(); }},
      {"for another pod set", [](KeptPlan& plan) { plan.pod_sets[0].name = "x"; }},
      {"for two pod sets", [](KeptPlan& plan) { plan.pod_sets.push_back(plan.pod_sets[0]); }},
      {"on an unknown flavor", [](KeptPlan& plan) { plan.pod_sets[0].flavors["gpu"] = "x"; }},
      {"of an unknown resource", [](KeptPlan& plan) { plan.pod_sets[0].flavors["x"] = "f"; }},
      {"without flavors", [](KeptPlan& plan) { plan.pod_sets[0].flavors.clear(); }},
      {"of another spec", [](KeptPlan& plan) { ++plan.generation; }},
      {"of another queue", [](KeptPlan& plan) { plan.cluster_queue = "b"; }},
      {"of another wait", [](KeptPlan& plan) { plan.waiting_since -= 1s; }},
      {"just young enough", [now](KeptPlan& plan) { plan.progress_at = now - 299s; }, true},
      {"too old", [now](KeptPlan& plan) { plan.progress_at = now - 300s; }},
      {"by a clock that is ahead", [now](KeptPlan& plan) { plan.progress_at = now + 60s; }, true},
      {"of the future", [now](KeptPlan& plan) { plan.progress_at = now + 61s; }},
      {"with victims that nobody knows", [](KeptPlan& plan) { plan.victims[0].uid = "x"; }},
      {"with usage that nobody had",
       [](KeptPlan& plan) {
         plan.victims[0].usage = {{"f", {{"gpu", INT64_MAX}}}};
       },
       true},
      {"from a queue that is not there",
       [](KeptPlan& plan) { plan.victims[0].cluster_queue = "x"; }},
  };
  for (const Row& row : rows) {
    KeptPlan changed = *plan_;
    row.change(changed);
    EXPECT_EQ(AfterRestart(world_, changed),
              row.believed ? "p Admitted, v Skipped" : "v Admitted, p Skipped")
        << row.what;
  }
}

TEST_F(PreemptionRestart, PlanIsNotRestoredWithoutTheRule) {
  SchedulerConfig kueue;
  kueue.own_rules = OwnRules::None();
  world_.ReleaseEvicted();
  EXPECT_EQ(AfterRestart(world_, plan_, kueue), "v Admitted, p Skipped");
}

TEST_F(PreemptionRestart, PlanIsNotRestoredWithoutAVictimThatNamesThePreemptor) {
  world_.Release(KeyOf("v"));
  world_.DeleteWorkload(KeyOf("v"));
  world_.Apply(MakeJob("x", "b", 4, {{"gpu", 1}}, 9));
  EXPECT_EQ(AfterRestart(world_, plan_), "x Admitted, p Skipped");
}

TEST_F(PreemptionRestart, PlanIsNotRestoredAfterItsWorkloadHadQuota) {
  world_.ReleaseEvicted();
  EXPECT_EQ(world_.Cycle(), "p Admitted, v Skipped");
  world_.Advance(10s);
  world_.SetActive(KeyOf("p"), false);
  world_.Release(KeyOf("p"));
  world_.SetActive(KeyOf("p"), true);
  KeptPlan stale = *plan_;
  stale.generation = world_.Find(KeyOf("p"))->meta.generation;
  EXPECT_EQ(AfterRestart(world_, stale), "v Admitted, p Skipped");
}

// A reader that compares stamps sees each change of the plan, and no cycle that changes nothing.
TEST_F(PreemptionRestart, StampChangesWithTheStoredPlan) {
  const auto now = [this] {
    const api::Workload& object = *world_.Find(KeyOf("p"));
    return std::pair(world_.scheduler().kept_plans().StampOf(object),
                     world_.scheduler().kept_plans().ToKeep(object));
  };
  EXPECT_FALSE(world_.scheduler().kept_plans().StampOf(*world_.Find(KeyOf("v"))));
  EXPECT_EQ(world_.Cycle(), "p Preempting");
  const auto first = now();
  ASSERT_TRUE(first.first);
  EXPECT_EQ(world_.Cycle(), "p Preempting");
  EXPECT_EQ(now(), first) << "the plan is kept";
  world_.Advance(5min);
  world_.Cycle();
  const auto paused = now();
  EXPECT_NE(paused.second, first.second);
  EXPECT_NE(paused.first, first.first) << "the plan has ended";
  api::Workload object = *world_.Find(KeyOf("p"));
  ++object.meta.generation;
  EXPECT_NE(world_.scheduler().kept_plans().StampOf(object), paused.first);
  world_.Advance(5min);
  world_.Cycle();
  EXPECT_NE(now().second, paused.second);
  EXPECT_NE(now().first, paused.first) << "the next plan";
  world_.ReleaseEvicted();
  world_.Cycle();
  EXPECT_FALSE(now().first) << "admitted";
}

// The plan and its pause end when they would have ended without the restart.
TEST_F(PreemptionRestart, RestartDoesNotExtendThePlansTimeout) {
  world_.Advance(4min);
  Scheduler next({});
  Replay(world_, next);
  next.kept_plans().Restore({{KeyOf("p"), *plan_}}, world_.now());
  const api::Workload& object = *world_.Find(KeyOf("p"));
  next.RunCycle(world_.now());
  ASSERT_TRUE(next.kept_plans().ToKeep(object));
  EXPECT_EQ(next.kept_plans().ToKeep(object)->progress_at, plan_->progress_at);
  next.RunCycle(plan_->progress_at + 5min);
  const std::optional<KeptPlan> paused = next.kept_plans().ToKeep(object);
  ASSERT_TRUE(paused);
  EXPECT_TRUE(paused->pod_sets.empty());
  EXPECT_EQ(paused->pauses, 1);
  EXPECT_EQ(paused->paused_until, plan_->progress_at + 10min);

  for (const KeptPlan& known : {*plan_, *paused}) {  // the first where nothing was written since
    Scheduler third({});
    Replay(world_, third);
    const WallTime now = plan_->progress_at + 9min;
    third.kept_plans().Restore({{KeyOf("p"), known}}, now);
    third.RunCycle(now);
    ASSERT_TRUE(third.kept_plans().ToKeep(object));
    EXPECT_TRUE(third.kept_plans().ToKeep(object)->pod_sets.empty()) << "no plan in the pause";
    third.RunCycle(now + 1min);
    EXPECT_FALSE(third.kept_plans().ToKeep(object)->pod_sets.empty()) << "the next one";
    EXPECT_EQ(third.kept_plans().ToKeep(object)->pauses, 1);
  }
}

// Five in all: v and w (queue b) have two each, p asks for five. v has stopped, w has not.
TEST(PreemptionRestartAbove, HigherPriorityIsAdmittedOnlyBesideTheReleasedQuota) {
  for (const api::Amount asked : {1, 2}) {
    TableWorld world({"f"}, {MakeOrgQueue("a", 5, PreemptionPolicy::kAny), MakeOrgQueue("b", 0),
                             MakeOrgQueue("c", 0)});
    world.Apply(MakeJob("v", "b", 1, {{"gpu", 2}}));
    world.Apply(MakeJob("w", "b", 1, {{"gpu", 2}}));
    world.AdmitAll();
    world.Apply(MakeJob("p", "a", 1, {{"gpu", 5}}, 5));
    ASSERT_EQ(world.Cycle(), "p Preempting");
    const auto plan = world.scheduler().kept_plans().ToKeep(*world.Find(KeyOf("p")));
    world.Release(KeyOf("v"));
    world.Apply(MakeJob("high", "c", 1, {{"gpu", asked}}, 9));
    const std::string first = AfterRestart(world, plan);
    EXPECT_EQ(first.substr(0, first.find(',')), asked == 1 ? "high Admitted" : "p Preempting");
    KeptPlan forged = *plan;
    for (KeptPlan::Victim& victim : forged.victims) victim.usage = {{"f", {{"gpu", 1000}}}};
    const std::string outcome = AfterRestart(world, forged);
    EXPECT_EQ(outcome.substr(0, outcome.find(',')), "p Preempting")
        << "no more than p asks for is held, whatever is written";
    world.Apply(MakeOrgQueue("d", 1));
    const std::string room = AfterRestart(world, forged);
    EXPECT_EQ(room.substr(0, room.find(',')), asked == 1 ? "high Admitted" : "p Preempting")
        << "what is beyond that is free";
  }
}

}  // namespace
}  // namespace berth::admission

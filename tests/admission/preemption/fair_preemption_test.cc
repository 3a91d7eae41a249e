// Goal: the victims under fair sharing. Method: running workloads, one preemptor, one cycle. Shares
// are given in units above nominal quota (all queues have weight 1 unless stated, one resource, one
// lendable total, so that units compare like shares). Rules of KEP-1714:
//
//     LessThanOrEqualToFinalShare: preemptor's share with its request <= victim's without it
//     LessThanInitialShare:        preemptor's share with its request <  victim's with it
#include <gtest/gtest.h>

#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;

constexpr auto kFinal = FairSharingRule::kLessThanOrEqualToFinalShare;
constexpr auto kInitial = FairSharingRule::kLessThanInitialShare;

struct FairlyRunning {
  const char* name;
  const char* queue;
  Amount gpus;
  std::int32_t priority = 0;
};

struct FairRow {
  const char* name;
  std::vector<FairSharingRule> rules;
  Amount nominal_a;
  std::vector<FairlyRunning> running;
  Amount gpus;  // requests of "p" in queue a, priority 0
  const char* victims;
};

// Queue a with its nominal quota; b and d have none; the lender has the rest of 12.
void Check(const FairRow& row) {
  SCOPED_TRACE(row.name);
  SchedulerConfig config;
  config.fair_sharing.emplace();
  config.fair_sharing->rules = row.rules;
  api::ClusterQueue a = MakeQueue("a", "c", {{"f", {{"gpu", row.nominal_a}}}});
  a.spec.preemption.reclaim_within_cohort = api::PreemptionPolicy::kAny;
  a.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
  TableWorld world(
      {"f"},
      {a, MakeQueue("b", "c", {{"f", {{"gpu", 0}}}}), MakeQueue("d", "c", {{"f", {{"gpu", 0}}}}),
       MakeQueue("lender", "c", {{"f", {{"gpu", 12 - row.nominal_a}}}})},
      config);
  for (const FairlyRunning& running : row.running) {
    world.Apply(MakeJob(running.name, running.queue, 1, {{"gpu", running.gpus}}, running.priority));
    ASSERT_EQ(world.AdmitAll(), running.name);
  }
  world.Apply(MakeJob("p", "a", 1, {{"gpu", row.gpus}}, 0));
  world.Cycle();
  EXPECT_EQ(world.VictimsOf("p"), row.victims);
}

TEST(FairPreemptionTest, RulesOfFairSharingDecideWhichWorkloadsArePreempted) {
  const FairRow rows[] = {
      {"a within nominal takes whatever others borrowed, be it of high priority",
       {kFinal, kInitial},
       4,
       {{"x", "b", 12, 9}},
       4,
       "x(InCohortReclamation)"},
      {"final share: p gets 4, b keeps 4 without x",
       {kFinal},
       0,
       {{"x", "b", 8}, {"y", "b", 4}},
       4,
       "x(InCohortFairSharing)"},
      {"final share: p would get 6, b would keep 4 or 5 of its 11",
       {kFinal},
       0,
       {{"x", "b", 7}, {"y", "b", 4}},
       6,
       ""},
      {"initial share: p gets 6, b has 11",
       {kInitial},
       0,
       {{"x", "b", 7}, {"y", "b", 4}},
       6,
       "x(InCohortFairSharing)"},
      {"both rules: the second is tried on what the first refused",
       {kFinal, kInitial},
       0,
       {{"x", "b", 7}, {"y", "b", 4}},
       6,
       "x(InCohortFairSharing)"},
      {"initial share: p would get 6, b has 6: not less",
       {kInitial},
       0,
       {{"x", "b", 6}, {"y", "d", 6}},
       6,
       ""},
      {"the queue with the highest share first: b 7, d 5",
       {kFinal},
       0,
       {{"x", "b", 3}, {"y", "b", 4}, {"z", "d", 5}},
       3,
       "x(InCohortFairSharing)"},
      {"own queue: lower priority, without any rule",
       {kFinal},
       0,
       {{"x", "a", 12, -1}},
       6,
       "x(InClusterQueue)"},
      {"the lender itself does not borrow and is safe",
       {kFinal, kInitial},
       0,
       {{"x", "lender", 12}},
       2,
       ""},
  };
  for (const FairRow& row : rows) Check(row);
}

TEST(FairPreemptionTest, FairWeightsDecideWhoIsPreempted) {
  struct Case {
    std::int64_t weight_nano;  // the weight of b
    const char* victims;
  };
  // b uses 8 + 4; p wants 6. b's final share without x: 4 ÷ weight; p's: 6.
  for (const Case& each : {Case{500'000'000, "x(InCohortFairSharing)"}, Case{1'000'000'000, ""},
                           Case{0, "x(InCohortFairSharing)"}}) {
    SCOPED_TRACE(each.weight_nano);
    SchedulerConfig config;
    config.fair_sharing.emplace();
    config.fair_sharing->rules = {kFinal};
    api::ClusterQueue a = MakeQueue("a", "c", {{"f", {{"gpu", 0}}}});
    a.spec.preemption.reclaim_within_cohort = api::PreemptionPolicy::kAny;
    api::ClusterQueue b = MakeQueue("b", "c", {{"f", {{"gpu", 0}}}});
    b.spec.fair_weight_nano = each.weight_nano;
    TableWorld world({"f"}, {a, b, MakeQueue("lender", "c", {{"f", {{"gpu", 12}}}})}, config);
    world.Apply(MakeJob("y", "b", 1, {{"gpu", 4}}, 1));
    world.Apply(MakeJob("x", "b", 1, {{"gpu", 8}}));
    ASSERT_EQ(world.AdmitAll(), "y, x");
    world.Apply(MakeJob("p", "a", 1, {{"gpu", 6}}));
    world.Cycle();
    EXPECT_EQ(world.VictimsOf("p"), each.victims);
  }
}

// Kueue's nextTarget orders queues of equal shares by their candidates: an evicted one goes first,
// even of the preemptor's own queue. With p, a uses 4 of 8 memory and b 4 of 8 GPUs; of GPUs a
// stays within its own quota, so it may take any workload of b.
TEST(FairPreemptionTest, CandidateThatIsStoppingIsTakenFirst) {
  for (const bool stops : {false, true}) {
    SchedulerConfig config;
    config.fair_sharing.emplace();
    api::ClusterQueue a = MakeQueue("a", "c", {{"f", {{"gpu", 4}, {"memory", 0}}}});
    a.spec.preemption.reclaim_within_cohort = api::PreemptionPolicy::kAny;
    a.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
    TableWorld world({"f"},
                     {a, MakeQueue("b", "c", {{"f", {{"gpu", 0}, {"memory", 0}}}}),
                      MakeQueue("lender", "c", {{"f", {{"gpu", 4}, {"memory", 8}}}})},
                     config);
    world.Apply(MakeJob("own", "a", 1, {{"gpu", 2}, {"memory", 2}}, -1));
    world.Apply(MakeJob("other", "b", 1, {{"gpu", 4}}));
    world.Apply(MakeJob("rest", "lender", 1, {{"gpu", 2}}));
    world.AdmitAll();
    if (stops) world.SetActive(support::KeyOf("own"), false);
    world.Apply(MakeJob("p", "a", 1, {{"gpu", 2}, {"memory", 2}}));
    world.Cycle();
    EXPECT_EQ(world.VictimsOf("p"), stops ? "own(InClusterQueue)" : "other(InCohortReclamation)");
  }
}

//     root ── left ── a, l       The shares that count are those below the lowest common
//          └─ right ── r         ancestor: left's against right's for r, a's against l's for l.
TEST(FairPreemptionTest, SharesAreComparedBelowTheCommonAncestor) {
  SchedulerConfig config;
  config.fair_sharing.emplace();
  config.fair_sharing->rules = {kFinal};
  api::ClusterQueue a = MakeQueue("a", "left", {{"f", {{"gpu", 0}}}});
  a.spec.preemption.reclaim_within_cohort = api::PreemptionPolicy::kAny;
  TableWorld world({"f"},
                   {a, MakeQueue("l", "left", {{"f", {{"gpu", 0}}}}),
                    MakeQueue("r", "right", {{"f", {{"gpu", 0}}}})},
                   config);
  world.Apply(support::MakeCohort("root", "", {{"f", {{"gpu", 12}}}}));
  world.Apply(support::MakeCohort("left", "root"));
  world.Apply(support::MakeCohort("right", "root"));
  world.Apply(MakeJob("l1", "l", 1, {{"gpu", 2}}));
  world.Apply(MakeJob("l2", "l", 1, {{"gpu", 2}}));
  world.Apply(MakeJob("r1", "r", 1, {{"gpu", 4}}));
  world.Apply(MakeJob("r2", "r", 1, {{"gpu", 4}}));
  world.AdmitAll();
  // If p is added, left has 4 + 2 = 6 and right would keep 4: no. Within left: p 2, l keeps 2: yes.
  world.Apply(MakeJob("p", "a", 1, {{"gpu", 2}}));
  EXPECT_EQ(world.Cycle(), "p Preempting");
  EXPECT_EQ(world.VictimsOf("p"), "l1(InCohortFairSharing)");
}

}  // namespace
}  // namespace berth::admission

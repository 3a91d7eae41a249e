// Goal: the flavor of a workload, or the reason for none. Method: one queue, one workload, one
// cycle per row; expectations by the rules of KEP-582 and KEP-993 (fungibility), with the numbers
// in the row's name.
#include <gtest/gtest.h>

#include "api/labels.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using support::FlavorOf;
using support::MakeFlavor;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;

api::Toleration Tolerate(const std::string& key, const std::string& value) {
  return {.key = key, .op = "Equal", .value = value, .effect = "NoSchedule"};
}

using Terms = std::vector<api::NodeSelectorTerm>;

api::NodeSelectorTerm Wants(const char* key, const char* op, std::vector<std::string> values) {
  return {.match_expressions = {{key, op, std::move(values)}}};
}

// Two flavors with room: "spot" (label tier=spot, perhaps a taint), then "plain" (label
// tier=plain).
struct Match {
  const char* name;
  std::vector<api::Taint> taints;  // taints of spot
  std::vector<api::Toleration> flavor_tolerations;
  std::vector<api::Toleration> tolerations;  // tolerations of the pods
  api::StringMap selector;
  std::optional<Terms> affinity;
  const char* flavor;  // "" none
};

void Check(const Match& row) {
  SCOPED_TRACE(row.name);
  TableWorld world({}, {MakeQueue("a", "", {{"spot", {{"gpu", 4}}}, {"plain", {{"gpu", 4}}}})});
  api::ResourceFlavor spot = MakeFlavor("spot", {{"tier", "spot"}}, row.taints);
  spot.tolerations = row.flavor_tolerations;
  world.Apply(spot);
  world.Apply(MakeFlavor("plain", {{"tier", "plain"}}));
  api::Workload job = MakeJob("w", "a", 1, {{"gpu", 1}});
  api::PodSpec& spec = job.spec.pod_sets[0].pod_template.spec;
  spec.tolerations = row.tolerations;
  spec.node_selector = row.selector;
  spec.required_node_affinity = row.affinity;
  world.Apply(job);
  world.Cycle();
  EXPECT_EQ(world.FlavorFor("w", "gpu"), row.flavor);
}

TEST(FlavorAssignmentTest, AnUntoleratedTaintThatForbidsPodsExcludesTheFlavor) {
  const api::Taint no_schedule{"spot", "yes", "NoSchedule"};
  const Match rows[] = {
      {"nothing special: the first", {}, {}, {}, {}, {}, "spot"},
      {"NoSchedule keeps off", {no_schedule}, {}, {}, {}, {}, "plain"},
      {"NoExecute keeps off", {{"spot", "yes", "NoExecute"}}, {}, {}, {}, {}, "plain"},
      {"PreferNoSchedule does not", {{"spot", "yes", "PreferNoSchedule"}}, {}, {}, {}, {}, "spot"},
      {"the pods tolerate it", {no_schedule}, {}, {Tolerate("spot", "yes")}, {}, {}, "spot"},
      {"another value is not tolerated",
       {no_schedule},
       {},
       {Tolerate("spot", "no")},
       {},
       {},
       "plain"},
      {"the flavor itself tolerates it",
       {no_schedule},
       {Tolerate("spot", "yes")},
       {},
       {},
       {},
       "spot"},
      {"Exists without a key tolerates everything",
       {no_schedule},
       {},
       {{.op = "Exists"}},
       {},
       {},
       "spot"},
      {"one of two taints tolerated is not enough",
       {no_schedule, {"gpu", "t4", "NoSchedule"}},
       {},
       {Tolerate("spot", "yes")},
       {},
       {},
       "plain"},
  };
  for (const Match& row : rows) Check(row);
}

TEST(FlavorAssignmentTest, FlavorsThatAPolicyHasUsedUpAreSkipped) {
  struct AvoidanceRow {
    const char* avoided;
    const char* flavor;  // "" none
    const char* message;
  };
  const AvoidanceRow rows[] = {
      {"", "spot", ""},
      {"spot", "plain", ""},
      {"other", "spot", ""},
      {"plain,spot", "",
       "couldn't assign flavors to pod set main: flavor plain was tried without success by the "
       "provisioning policy of the workload, flavor spot was tried without success by the "
       "provisioning policy of the workload"},
  };
  for (const AvoidanceRow& row : rows) {
    SCOPED_TRACE(row.avoided);
    TableWorld world({"spot", "plain"},
                     {MakeQueue("a", "", {{"spot", {{"gpu", 4}}}, {"plain", {{"gpu", 4}}}})});
    api::Workload job = MakeJob("w", "a", 1, {{"gpu", 1}});
    if (*row.avoided != '\0') {
      job.meta.annotations[api::kAvoidedFlavorsAnnotation] = row.avoided;
    }
    world.Apply(job);
    world.Cycle();
    EXPECT_EQ(world.FlavorFor("w", "gpu"), row.flavor);
    if (*row.message != '\0') {
      EXPECT_EQ(world.MessageOf("w"), row.message);
    }
  }
}

TEST(FlavorAssignmentTest, NodeSelectorsAndAffinityChooseTheFlavor) {
  const Match rows[] = {
      {"selector of the second", {}, {}, {}, {{"tier", "plain"}}, {}, "plain"},
      {"selector on a key no flavor has is not its business",
       {},
       {},
       {},
       {{"zone", "b"}},
       {},
       "spot"},
      {"selector that no flavor has", {}, {}, {}, {{"tier", "gold"}}, {}, ""},
      {"affinity In", {}, {}, {}, {}, Terms{Wants("tier", "In", {"plain", "gold"})}, "plain"},
      {"affinity NotIn", {}, {}, {}, {}, Terms{Wants("tier", "NotIn", {"spot"})}, "plain"},
      {"terms are alternatives",
       {},
       {},
       {},
       {},
       Terms{Wants("tier", "In", {"gold"}), Wants("tier", "In", {"plain"})},
       "plain"},
      {"a term on other keys alone is empty and matches",
       {},
       {},
       {},
       {},
       Terms{Wants("tier", "In", {"gold"}), Wants("zone", "In", {"b"})},
       "spot"},
      {"a term with another key counts for its own keys only",
       {},
       {},
       {},
       {},
       Terms{{.match_expressions = {{"tier", "In", {"plain"}}, {"zone", "In", {"b"}}}}},
       "plain"},
      {"no term matches", {}, {}, {}, {}, Terms{Wants("tier", "In", {"gold"})}, ""},
  };
  for (const Match& row : rows) Check(row);
}

// Flavors f0 and f1 of queue a in a cohort with b. The state of each flavor for a workload of 3:
//   fit      4 of its own, free
//   borrow   1 of its own, the rest from b
//   preempt  4 of its own, 4 of them used by one of lower priority in the queue
//   nofit    2 of its own, borrowing forbidden
enum class State { kFit, kBorrow, kPreempt, kNoFit };

FlavorOf OfA(const char* flavor, State state) {
  switch (state) {
    case State::kFit:
    case State::kPreempt: return {flavor, {{"gpu", 4, 0}}};
    case State::kBorrow: return {flavor, {{"gpu", 1}}};
    case State::kNoFit: break;
  }
  return {flavor, {{"gpu", 2, 0}}};
}

FlavorOf OfB(const char* flavor, State state) {
  return {flavor, {{"gpu", state == State::kBorrow ? 4 : 0}}};
}

TEST(FlavorAssignmentTest, FungibilityAndPreferenceChooseTheFlavor) {
  using enum State;
  constexpr auto kStop = api::SearchPolicy::kMayStopSearch;
  constexpr auto kNext = api::SearchPolicy::kTryNextFlavor;
  constexpr auto kBorrowFirst = api::FungibilityPreference::kBorrowingOverPreemption;
  constexpr auto kPreemptFirst = api::FungibilityPreference::kPreemptionOverBorrowing;
  struct Row {
    const char* name;
    State f0;
    State f1;
    api::SearchPolicy when_can_borrow;
    api::SearchPolicy when_can_preempt;
    api::FungibilityPreference preference;
    const char* flavor;
    Outcome outcome;
  };
  const Row rows[] = {
      {"the first that fits ends the search", kFit, kFit, kNext, kNext, kBorrowFirst, "f0",
       Outcome::kAdmitted},
      {"borrowing may stop", kBorrow, kFit, kStop, kNext, kBorrowFirst, "f0", Outcome::kAdmitted},
      {"borrowing tries the next", kBorrow, kFit, kNext, kNext, kBorrowFirst, "f1",
       Outcome::kAdmitted},
      {"both borrow: the first of equals", kBorrow, kBorrow, kNext, kNext, kBorrowFirst, "f0",
       Outcome::kAdmitted},
      {"preemption tries the next by default", kPreempt, kFit, kStop, kNext, kBorrowFirst, "f1",
       Outcome::kAdmitted},
      {"preemption may stop", kPreempt, kFit, kStop, kStop, kBorrowFirst, "f0",
       Outcome::kPreempting},
      {"preempt or borrow: borrowing is better by default", kPreempt, kBorrow, kStop, kNext,
       kBorrowFirst, "f1", Outcome::kAdmitted},
      {"the same with borrowing going on: still the better one", kPreempt, kBorrow, kNext, kNext,
       kBorrowFirst, "f1", Outcome::kAdmitted},
      {"borrow, then preempt: the first stops", kBorrow, kPreempt, kStop, kNext, kPreemptFirst,
       "f0", Outcome::kAdmitted},
      {"borrow or preempt: preemption preferred", kBorrow, kPreempt, kNext, kNext, kPreemptFirst,
       "f1", Outcome::kPreempting},
      {"preempt or borrow: preemption preferred", kPreempt, kBorrow, kNext, kNext, kPreemptFirst,
       "f0", Outcome::kPreempting},
      {"fit beats preemption whatever the preference", kPreempt, kFit, kNext, kNext, kPreemptFirst,
       "f1", Outcome::kAdmitted},
      {"what does not fit is passed over", kNoFit, kPreempt, kStop, kNext, kBorrowFirst, "f1",
       Outcome::kPreempting},
      {"preemption beats what does not fit", kPreempt, kNoFit, kStop, kNext, kBorrowFirst, "f0",
       Outcome::kPreempting},
      {"nothing fits", kNoFit, kNoFit, kStop, kNext, kBorrowFirst, "", Outcome::kNoFit},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    api::ClusterQueue a = MakeQueue("a", "c", {OfA("f0", row.f0), OfA("f1", row.f1)});
    a.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
    a.spec.flavor_fungibility = {row.when_can_borrow, row.when_can_preempt, row.preference};
    TableWorld world({"f0", "f1"},
                     {a, MakeQueue("b", "c", {OfB("f0", row.f0), OfB("f1", row.f1)})});
    for (const auto& [flavor, state] : {std::pair("f0", row.f0), std::pair("f1", row.f1)}) {
      if (state != kPreempt) continue;
      world.Apply(MakeFlavor(flavor, {{"flavor", flavor}}));
      api::Workload low = MakeJob(std::string("low-") + flavor, "a", 1, {{"gpu", 4}}, 0);
      low.spec.pod_sets[0].pod_template.spec.node_selector["flavor"] = flavor;
      world.Apply(MakeFlavor(row.f0 == kPreempt ? "f1" : "f0", {{"flavor", "other"}}));
      world.Apply(low);
      ASSERT_EQ(world.AdmitAll(), std::string("low-") + flavor);
    }
    world.Apply(MakeJob("w", "a", 1, {{"gpu", 3}}, 1));
    world.Cycle();
    EXPECT_EQ(world.FlavorFor("w", "gpu"), row.flavor);
    EXPECT_EQ(world.Of("w").outcome, row.outcome);
  }
}

TEST(FlavorAssignmentTest, ScanContinuesAfterTheLastTriedFlavor) {
  // y is nominated on f0, which it would borrow; x takes it first.
  TableWorld world({"f0", "f1"},
                   {MakeQueue("a", "c", {{"f0", {{"gpu", 4}}}}),
                    MakeQueue("b", "c", {{"f0", {{"gpu", 0}}}, {"f1", {{"gpu", 4}}}})});
  world.Apply(MakeJob("x", "a", 1, {{"gpu", 3}}));
  world.Apply(MakeJob("y", "b", 1, {{"gpu", 3}}));
  EXPECT_EQ(world.Cycle(), "x Admitted, y Skipped");
  EXPECT_EQ(world.Cycle(), "y Admitted");
  EXPECT_EQ(world.FlavorFor("y", "gpu"), "f1");
  EXPECT_EQ(world.Of("y").assignment.pod_sets[0].attempts.size(), 1U) << "f0 is not tried again";
}

TEST(FlavorAssignmentTest, PreemptionRestartsTheScanAtTheFirstFlavor) {
  api::ClusterQueue a = MakeQueue("a", "", {{"f0", {{"gpu", 2}}}, {"f1", {{"gpu", 2}}}});
  a.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
  a.spec.flavor_fungibility.when_can_preempt = api::SearchPolicy::kMayStopSearch;
  TableWorld world({"f0", "f1"}, {a});
  for (const char* name : {"x", "y"}) world.Apply(MakeJob(name, "a", 1, {{"gpu", 2}}, 0));
  ASSERT_EQ(world.AdmitAll(), "x, y");
  world.Apply(MakeJob("w", "a", 1, {{"gpu", 2}}, 5));
  EXPECT_EQ(world.Cycle(), "w Preempting");
  EXPECT_EQ(world.VictimsOf("w"), "x(InClusterQueue)");
  EXPECT_EQ(world.Of("w").assignment.pod_sets[0].attempts.size(), 1U) << "f0 ends the search";
  world.ReleaseEvicted();
  EXPECT_EQ(world.Cycle(), "w Admitted");
  EXPECT_EQ(world.FlavorFor("w", "gpu"), "f0");
}

// FlavorFungibility off: the policies of the queue are ignored, and the first flavor with room is
// taken before one where something has to be preempted.
TEST(FlavorAssignmentTest, WithoutTheGateScanPassesAFlavorThatNeedsPreemption) {
  for (const bool gate : {true, false}) {
    SchedulerConfig config;
    config.gates.flavor_fungibility = gate;
    api::ClusterQueue a = MakeQueue("a", "", {{"f0", {{"gpu", 2}}}, {"f1", {{"gpu", 2}}}});
    a.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
    a.spec.flavor_fungibility.when_can_preempt = api::SearchPolicy::kMayStopSearch;
    TableWorld world({"f0", "f1"}, {a}, config);
    world.Apply(MakeJob("x", "a", 1, {{"gpu", 2}}, 0));
    ASSERT_EQ(world.AdmitAll(), "x");
    world.Apply(MakeJob("w", "a", 1, {{"gpu", 2}}, 5));
    EXPECT_EQ(world.Cycle(), gate ? "w Preempting" : "w Admitted");
    EXPECT_EQ(world.FlavorFor("w", "gpu"), gate ? "f0" : "f1");
  }
}

TEST(FlavorAssignmentTest, AllResourcesOfAGroupLandOnOneFlavor) {
  TableWorld world({"f0", "f1"}, {MakeQueue("a", "",
                                            {
                                                {"f0", {{"gpu", 4}, {"memory", 1}}},
                                                {"f1", {{"gpu", 1}, {"memory", 4}}},
                                            })});
  world.Apply(MakeJob("both", "a", 1, {{"gpu", 2}, {"memory", 2}}));
  EXPECT_EQ(world.Cycle(), "both NoFit") << "f0 has no memory for it, f1 no GPUs";
  world.Apply(MakeJob("gpus", "a", 1, {{"gpu", 2}, {"memory", 1}}));
  world.Cycle();
  EXPECT_EQ(world.FlavorFor("gpus", "gpu"), "f0");
  EXPECT_EQ(world.FlavorFor("gpus", "memory"), "f0");
}

TEST(FlavorAssignmentTest, ResourceGroupsChooseFlavorsIndependently) {
  api::ClusterQueue a = MakeQueue("a", "", {{"f0", {{"gpu", 1}}}, {"f1", {{"gpu", 4}}}});
  a.spec.resource_groups.push_back(support::MakeGroup({{"cheap", {{"memory", 8}}}}));
  TableWorld world({"f0", "f1", "cheap"}, {a});
  world.Apply(MakeJob("w", "a", 2, {{"gpu", 2}, {"memory", 3}}));
  EXPECT_EQ(world.Cycle(), "w Admitted");
  EXPECT_EQ(world.FlavorFor("w", "gpu"), "f1");
  EXPECT_EQ(world.FlavorFor("w", "memory"), "cheap");
}

TEST(FlavorAssignmentTest, PodSetsOfOneWorkloadAddUpOnAFlavor) {
  TableWorld world({"f0", "f1"},
                   {MakeQueue("a", "", {{"f0", {{"gpu", 4}}}, {"f1", {{"gpu", 4}}}})});
  api::Workload job = MakeJob("w", "a", 1, {{"gpu", 3}});
  job.spec.pod_sets.push_back(support::MakePodSet("workers", 2, {{"gpu", 2}}));
  world.Apply(job);
  EXPECT_EQ(world.Cycle(), "w Admitted");
  const auto& pod_sets = world.Find(support::KeyOf("w"))->status.admission->pod_set_assignments;
  EXPECT_EQ(pod_sets[0].flavors.at("gpu"), "f0");
  EXPECT_EQ(pod_sets[1].flavors.at("gpu"), "f1") << "3 + 4 > 4 on the first flavor";
}

TEST(FlavorAssignmentTest, PodSetsOfOneGroupMayAskForDifferentResources) {
  TableWorld world({"f0", "f1"}, {MakeQueue("a", "",
                                            {
                                                {"f0", {{"gpu", 1}, {"memory", 8}}},
                                                {"f1", {{"gpu", 4}, {"memory", 3}}},
                                            })});
  api::Workload job = MakeJob("w", "a", 1, {{"memory", 3}});
  job.spec.pod_sets.push_back(support::MakePodSet("workers", 2, {{"gpu", 2}}));
  for (api::PodSet& pods : job.spec.pod_sets) {
    pods.topology_request.emplace().pod_set_group_name = "together";
  }
  world.Apply(job);
  EXPECT_EQ(world.Cycle(), "w Admitted");
  EXPECT_EQ(world.FlavorFor("w", "memory"), "f1") << "that of the GPUs";
}

TEST(FlavorAssignmentTest, PodsAreAResourceWhereTheQueueCountsThem) {
  TableWorld world({"f"}, {MakeQueue("a", "", {{"f", {{"gpu", 9}, {"pods", 3}}}})});
  world.Apply(MakeJob("four", "a", 4, {{"gpu", 1}}));
  EXPECT_EQ(world.Cycle(), "four NoFit");
  world.Apply(MakeJob("three", "a", 3, {{"gpu", 1}}));
  EXPECT_EQ(world.AdmitAll(), "three");
}

}  // namespace
}  // namespace berth::admission

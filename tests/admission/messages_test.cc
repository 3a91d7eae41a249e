// Goal: Kueue's exact words: reasons and messages of QuotaReserved=False, of preemption and of the
// QuotaReserved event. Method: one situation per row, the whole text.
#include "admission/messages.h"

#include <gtest/gtest.h>

#include "api/labels.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using support::MakeFlavor;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;

const char kAll[] = "couldn't assign flavors to pod set main: ";

// Queue a: gpu 4 and memory 8Gi on "plain"; 3 of the GPUs are in use.
TEST(MessagesTest, ReportsWhyAWorkloadWaits) {
  struct Row {
    const char* name;
    api::ResourceAmounts requests;
    std::int32_t pods;
    Outcome outcome;
    const char* reason;
    std::string message;
  };
  const Row rows[] = {
      {"too much now",
       {{"gpu", 3}},
       1,
       Outcome::kNoCandidates,
       "WaitingForQuota",
       std::string(kAll) + "insufficient unused quota for gpu in flavor plain, 2 more needed"},
      {"too much ever",
       {{"gpu", 3}},
       2,
       Outcome::kNoFit,
       "ExceedsMaxQuota",
       std::string(kAll) +
           "insufficient quota for gpu in flavor plain, previously considered podsets requests (0) "
           "+ current podset request (6) > maximum capacity (4)"},
      {"memory with its suffix",
       {{"memory", 9LL << 30}},
       1,
       Outcome::kNoFit,
       "ExceedsMaxQuota",
       std::string(kAll) +
           "insufficient quota for memory in flavor plain, previously considered podsets requests "
           "(0) + current podset request (9Gi) > maximum capacity (8Gi)"},
      {"a resource that the queue does not know",
       {{"tpu", 1}},
       1,
       Outcome::kNoFit,
       "NoMatchingFlavor",
       std::string(kAll) + "resource tpu unavailable in ClusterQueue"},
      {"both resources of the group, sorted",
       {{"gpu", 3}, {"memory", 9LL << 30}},
       1,
       Outcome::kNoFit,
       "ExceedsMaxQuota",
       std::string(kAll) +
           "insufficient quota for memory in flavor plain, previously considered podsets requests "
           "(0) + current podset request (9Gi) > maximum capacity (8Gi), insufficient unused quota "
           "for gpu in flavor plain, 2 more needed"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    TableWorld world({"plain"},
                     {MakeQueue("a", "", {{"plain", {{"gpu", 4}, {"memory", 8LL << 30}}}})});
    world.Apply(MakeJob("running", "a", 1, {{"gpu", 3}}));
    ASSERT_EQ(world.AdmitAll(), "running");
    world.Apply(MakeJob("w", "a", row.pods, row.requests));
    world.Cycle();
    EXPECT_EQ(world.Of("w").outcome, row.outcome);
    EXPECT_EQ(PendingReason(world.Of("w")), row.reason);
    EXPECT_EQ(world.MessageOf("w"), row.message);
  }
}

TEST(MessagesTest, ReportsFlavorsThatDoNotMatch) {
  TableWorld world({},
                   {MakeQueue("a", "", {{"spot", {{"cpu", 4000}}}, {"plain", {{"cpu", 500}}}})});
  world.Apply(MakeFlavor("spot", {}, {{"spot", "yes", "NoSchedule"}}));
  world.Apply(MakeFlavor("plain", {{"tier", "plain"}}));
  api::Workload job = MakeJob("w", "a", 1, {{"cpu", 1500}});
  world.Apply(job);
  EXPECT_EQ(world.Cycle(), "w NoFit");
  EXPECT_EQ(
      world.MessageOf("w"),
      std::string(kAll) +
          "insufficient quota for cpu in flavor plain, previously considered podsets requests "
          "(0) + current podset request (1500m) > maximum capacity (500m), untolerated taint "
          "{spot yes NoSchedule <nil>} in flavor spot");
  EXPECT_EQ(PendingReason(world.Of("w")), "ExceedsMaxQuota") << "the mildest of the alternatives";
  job = MakeJob("v", "a", 1, {{"cpu", 100}}, 1);
  job.spec.pod_sets[0].pod_template.spec.node_selector["tier"] = "gold";
  world.Apply(job);
  world.Cycle();
  EXPECT_EQ(world.MessageOf("v"), std::string(kAll) +
                                      "flavor plain doesn't match node affinity, untolerated taint "
                                      "{spot yes NoSchedule <nil>} in flavor spot");
  EXPECT_EQ(PendingReason(world.Of("v")), "NoMatchingFlavor");
}

TEST(MessagesTest, SecondPodSetsMessageCountsTheFirstsRequests) {
  TableWorld world({"f"}, {MakeQueue("a", "", {{"f", {{"gpu", 4}}}})});
  api::Workload job = MakeJob("w", "a", 1, {{"gpu", 3}});
  job.spec.pod_sets.push_back(support::MakePodSet("workers", 2, {{"gpu", 1}}));
  world.Apply(job);
  world.Cycle();
  EXPECT_EQ(world.MessageOf("w"),
            "couldn't assign flavors to pod set workers: insufficient quota for gpu in flavor f, "
            "previously considered podsets requests (3) + current podset request (2) > maximum "
            "capacity (4)");
}

TEST(MessagesTest, ReportsPreemptingSkippedAndMismatchedWorkloads) {
  api::ClusterQueue a = MakeQueue("a", "c", {{"f", {{"gpu", 4}}}});
  a.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
  api::ClusterQueue b = MakeQueue("b", "c", {{"f", {{"gpu", 0}}}});
  api::ClusterQueue closed = MakeQueue("closed", "", {{"f", {{"gpu", 4}}}});
  closed.spec.namespace_selector.reset();
  TableWorld world({"f"}, {a, b, closed});
  world.Apply(MakeJob("low", "a", 1, {{"gpu", 2}}));
  ASSERT_EQ(world.AdmitAll(), "low");
  world.Apply(MakeJob("p", "a", 1, {{"gpu", 3}}, 1));
  world.Apply(MakeJob("y", "b", 1, {{"gpu", 2}}));
  world.Apply(MakeJob("z", "closed", 1, {{"gpu", 1}}));
  EXPECT_EQ(world.Cycle(), "p Preempting, y Skipped, z NotNominated");
  EXPECT_EQ(world.MessageOf("p"),
            std::string(kAll) +
                "insufficient unused quota for gpu in flavor f, 1 more needed. Pending the "
                "preemption of 1 workload(s)");
  EXPECT_EQ(PendingReason(world.Of("p")), "WaitingForPreemptedWorkloads");
  EXPECT_EQ(world.MessageOf("y"), "Workload no longer fits after processing another workload");
  EXPECT_EQ(PendingReason(world.Of("y")), "WaitingForQuota");
  EXPECT_EQ(world.MessageOf("z"), "workload namespace doesn't match ClusterQueue selector");
  EXPECT_EQ(PendingReason(world.Of("z")), "Misconfigured");
}

TEST(MessagesTest, VictimsMessageNamesPreemptorReasonAndPaths) {
  api::Workload preemptor;
  preemptor.meta.uid = "u-1";
  preemptor.meta.labels[api::kJobUidLabel] = "j-1";
  struct Row {
    PreemptionReason reason;
    const char* words;
  };
  const Row rows[] = {
      {PreemptionReason::kInClusterQueue, "prioritization in the ClusterQueue"},
      {PreemptionReason::kInCohortReclamation, "reclamation within the cohort"},
      {PreemptionReason::kInCohortFairSharing, "Fair Sharing within the cohort"},
      {PreemptionReason::kInCohortReclaimWhileBorrowing,
       "reclamation within the cohort while borrowing"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(PreemptedMessage(preemptor, row.reason, "/c/a", "/c/b"),
              std::string("Preempted to accommodate a workload (UID: u-1, JobUID: j-1) due to ") +
                  row.words + "; preemptor path: /c/a; preemptee path: /c/b");
  }
  EXPECT_EQ(PreemptedMessage({}, PreemptionReason::kInClusterQueue, "/a", "/a"),
            "Preempted to accommodate a workload (UID: UNKNOWN, JobUID: UNKNOWN) due to "
            "prioritization in the ClusterQueue; preemptor path: /a; preemptee path: /a");
}

TEST(MessagesTest, ReportsTheConsideredFlavors) {
  TableWorld world({"f0", "f1"},
                   {MakeQueue("a", "c", {{"f0", {{"gpu", 1, 0}}}, {"f1", {{"gpu", 1}}}}),
                    MakeQueue("b", "c", {{"f0", {{"gpu", 0}}}, {"f1", {{"gpu", 4}}}})});
  world.Apply(MakeJob("w", "a", 1, {{"gpu", 2}}));
  EXPECT_EQ(world.Cycle(), "w Admitted");
  EXPECT_EQ(ConsideredFlavors(world.Of("w").assignment, world.scheduler().state().vocabulary()),
            "main: f0(NoFit;insufficient quota for gpu in flavor f0, previously considered podsets "
            "requests (0) + current podset request (2) > maximum capacity (1)), f1(Fit;borrow=1)");
  EXPECT_EQ(QuotaReservedMessage("a"), "Quota reserved in ClusterQueue a");
}

// Kueue's SliceRequests orders by the hash of the name: memory, then GPUs, then cpu.
TEST(MessagesTest, OneInsufficientResourceGroupIsReported) {
  TableWorld world({"f", "g"}, {MakeQueue("a", "", {{"f", {{"cpu", 1}}}})});
  api::ClusterQueue queue = MakeQueue("a", "", {{"f", {{"cpu", 1}}}});
  queue.spec.resource_groups.push_back(support::MakeGroup({{"g", {{"nvidia.com/gpu", 1}}}}));
  world.Apply(queue);
  world.Apply(MakeJob("w", "a", 1, {{"cpu", 2}, {"nvidia.com/gpu", 2}}));
  EXPECT_EQ(world.Cycle(), "w NoFit");
  EXPECT_EQ(world.MessageOf("w"),
            std::string(kAll) +
                "insufficient quota for nvidia.com/gpu in flavor g, previously considered podsets "
                "requests (0) + current podset request (2) > maximum capacity (1)");
}

// Kueue's toAPI writes an amount for every resource with a flavor.
TEST(MessagesTest, LeaderWithoutRequestsHasZeroUsage) {
  Vocabulary vocabulary;
  Decision decision;
  PodSetDecision& leader = decision.assignment.pod_sets.emplace_back();
  leader.name = "leader";
  leader.count = 1;
  FlavorChoice& choice = leader.flavors.emplace_back();
  choice.resource = vocabulary.resources.Intern("gpu");
  choice.flavor = vocabulary.flavors.Intern("f");
  const api::Admission admission = AdmissionOf(decision, vocabulary, "a");
  EXPECT_EQ(admission.pod_set_assignments.at(0).flavors.at("gpu"), "f");
  EXPECT_EQ(admission.pod_set_assignments.at(0).resource_usage.at("gpu"), 0);
}

TEST(MessagesTest, EventsAreCutAsKueueCutsThem) {
  EXPECT_EQ(TruncateEventMessage(std::string(1024, 'x')), std::string(1024, 'x'));
  EXPECT_EQ(TruncateEventMessage(std::string(1025, 'x')), std::string(1020, 'x') + " ...");
}

}  // namespace
}  // namespace berth::admission

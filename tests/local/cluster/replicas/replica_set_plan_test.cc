// Goal: a ReplicaSet has as many pods as it wants, and tells of them.
// Method: rows of a set and its pods against the plan.
#include "local/cluster/replicas/replica_set_plan.h"

#include <gmock/gmock.h>

#include "base/rfc3339.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const WallTime kSetNow = *ParseTime("2026-11-22T10:00:00Z");

Json Set(std::int64_t replicas, const Json& spec = Json::object()) {
  Json set = {{"apiVersion", "apps/v1"},
              {"kind", "ReplicaSet"},
              {"metadata", {{"name", "web"}, {"namespace", "n"}, {"uid", "u"}, {"generation", 3}}},
              {"spec",
               {{"replicas", replicas},
                {"selector", {{"matchLabels", {{"app", "web"}}}}},
                {"template",
                 {{"metadata", {{"labels", {{"app", "web"}, {"tier", "front"}}}}},
                  {"spec", {{"containers", Json::array({{{"name", "c"}}})}}}}}}}};
  set["spec"].merge_patch(spec);
  return set;
}

// A running pod of the set.
Json SetPod(const std::string& name, const Json& more = Json::object()) {
  Json pod = {{"metadata",
               {{"name", name},
                {"namespace", "n"},
                {"labels", {{"app", "web"}, {"tier", "front"}}},
                {"creationTimestamp", "2026-11-22T09:00:00Z"},
                {"ownerReferences",
                 Json::array({{{"kind", "ReplicaSet"}, {"uid", "u"}, {"controller", true}}})}}},
              {"spec", {{"nodeName", "node"}}},
              {"status",
               {{"phase", "Running"},
                {"conditions", Json::array({{{"type", "Ready"},
                                             {"status", "True"},
                                             {"lastTransitionTime", "2026-11-22T09:00:00Z"}}})}}}};
  pod.merge_patch(more);
  return pod;
}

ReplicaSetPlan Plan(const Json& set, const std::vector<Json>& pods) {
  ReplicaSetView view;
  view.set = std::make_shared<const Json>(set);
  for (const Json& pod : pods) view.pods.push_back(std::make_shared<const Json>(pod));
  return PlanReplicaSet(view, kSetNow);
}

TEST(ReplicaSetPlanTest, CreatesMissingPods) {
  const Json ended{{"status", {{"phase", "Failed"}}}};
  const Json deleting{{"metadata", {{"deletionTimestamp", "2026-11-22T10:00:00Z"}}}};
  const ReplicaSetPlan plan =
      Plan(Set(3), {SetPod("a"), SetPod("b", ended), SetPod("c", deleting)});
  EXPECT_EQ(plan.create, 2U);
  EXPECT_THAT(plan.remove, IsEmpty());
  EXPECT_EQ(*plan.status, Json::parse(R"({"replicas": 1, "fullyLabeledReplicas": 1,
      "readyReplicas": 1, "availableReplicas": 1, "terminatingReplicas": 1,
      "observedGeneration": 3})"));
}

TEST(ReplicaSetPlanTest, RemovesTheLeastUsefulPods) {
  const Json pending{{"status", {{"phase", "Pending"}, {"conditions", nullptr}}}};
  const Json cheap{
      {"metadata", {{"annotations", {{"controller.kubernetes.io/pod-deletion-cost", "-1"}}}}}};
  const Json unbound{{"spec", nullptr},
                     {"status", {{"phase", "Pending"}, {"conditions", nullptr}}}};
  const Json young{{"metadata", {{"creationTimestamp", "2026-11-22T09:30:00Z"}}}};
  const std::vector<Json> pods{SetPod("old"), SetPod("young", young), SetPod("cheap", cheap),
                               SetPod("pending", pending), SetPod("unbound", unbound)};
  EXPECT_THAT(Plan(Set(1), pods).remove, ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(Plan(Set(0), pods).remove, ElementsAre(4, 3, 2, 1, 0));
}

TEST(ReplicaSetPlanTest, AdoptsAndReleasesBySelector) {
  Json orphan = SetPod("orphan");
  orphan["metadata"].erase("ownerReferences");
  const Json other{{"metadata", {{"labels", {{"app", "other"}}}}}};
  Json stranger = SetPod("stranger");
  stranger["metadata"]["ownerReferences"][0]["uid"] = "v";
  const ReplicaSetPlan plan =
      Plan(Set(2), {SetPod("mine"), orphan, SetPod("relabelled", other), stranger});
  EXPECT_THAT(plan.adopt, ElementsAre(1));
  EXPECT_THAT(plan.release, ElementsAre(2));
  EXPECT_EQ(plan.create, 0U) << "first who is owned, then how many";
}

TEST(ReplicaSetPlanTest, APodIsAvailableOnceItWasReadyLongEnough) {
  const Json fresh{
      {"status",
       {{"conditions", Json::array({{{"type", "Ready"},
                                     {"status", "True"},
                                     {"lastTransitionTime", "2026-11-22T09:59:58Z"}}})}}}};
  const ReplicaSetPlan plan =
      Plan(Set(2, {{"minReadySeconds", 5}}), {SetPod("old"), SetPod("fresh", fresh)});
  EXPECT_EQ((*plan.status)["readyReplicas"], 2);
  EXPECT_EQ((*plan.status)["availableReplicas"], 1);
  EXPECT_EQ(plan.look_again, *ParseTime("2026-11-22T10:00:03Z"));
}

TEST(ReplicaSetPlanTest, FailedCreationIsAConditionUntilItSucceeds) {
  ReplicaSetView view;
  Json set = Set(1);
  view.set = std::make_shared<const Json>(set);
  view.create_failure = "no room";
  view.create_not_before = kSetNow + std::chrono::seconds(2);
  const ReplicaSetPlan failed = PlanReplicaSet(view, kSetNow);
  EXPECT_EQ(failed.create, 0U);
  EXPECT_EQ(failed.look_again, view.create_not_before);
  EXPECT_EQ((*failed.status)["conditions"][0]["message"], "no room");
  set["status"] = *failed.status;
  EXPECT_FALSE((*Plan(set, {SetPod("a")}).status).contains("conditions"));
  set["spec"]["replicas"] = 0;  // nothing is missing any more
  view.set = std::make_shared<const Json>(set);
  EXPECT_FALSE((*PlanReplicaSet(view, kSetNow).status).contains("conditions"));
}

TEST(ReplicaSetPlanTest, DeletedSetCreatesNoPods) {
  EXPECT_EQ(Plan(Set(2), {}).create, 2U);
  Json set = Set(2);
  set["metadata"]["deletionTimestamp"] = "2026-11-22T10:00:00Z";
  EXPECT_EQ(Plan(set, {}).create, 0U);
}

TEST(ReplicaSetPlanTest, AnUnchangedStatusIsNotWritten) {
  Json set = Set(1);
  set["status"] = *Plan(set, {SetPod("a")}).status;
  EXPECT_EQ(Plan(set, {SetPod("a")}).status, std::nullopt);
}

}  // namespace
}  // namespace berth::local::cluster

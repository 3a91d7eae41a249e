// Goal: a StatefulSet makes, replaces and removes its pods in the order of their numbers.
// Method: rows of a set and its pods against the plan.
#include "local/cluster/replicas/stateful_set_plan.h"

#include <gmock/gmock.h>

#include "base/rfc3339.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/replicas/ownership.h"
#include "local/cluster/replicas/stateful_pods.h"

namespace berth::local::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const WallTime kStatefulNow = *ParseTime("2026-11-22T10:00:00Z");

Json StatefulSet(std::int64_t replicas, const Json& spec = Json::object()) {
  Json set = {{"apiVersion", "apps/v1"},
              {"kind", "StatefulSet"},
              {"metadata", {{"name", "db"}, {"namespace", "n"}, {"uid", "u"}, {"generation", 2}}},
              {"spec",
               {{"replicas", replicas},
                {"serviceName", "peers"},
                {"selector", {{"matchLabels", {{"app", "db"}}}}},
                {"template",
                 {{"metadata", {{"labels", {{"app", "db"}}}}},
                  {"spec", {{"containers", Json::array({{{"name", "c"}}})}}}}}}}};
  set["spec"].merge_patch(spec);
  return set;
}

// A set whose pods were made by an earlier template.
struct Story {
  explicit Story(const Json& first) : set(first) {
    const RevisionChoice choice = ChooseRevision(set, {}, 0, "controller.kubernetes.io/hash");
    old_revision = *choice.create;
    revisions.push_back(std::make_shared<const Json>(old_revision));
    set["status"] = {{"currentRevision", NameOf(old_revision)}};
  }

  void ChangeTemplate() {
    set["spec"]["template"]["spec"]["containers"][0]["image"] = "new";
    revisions.push_back(std::make_shared<const Json>(
        *ChooseRevision(set, revisions, 0, "controller.kubernetes.io/hash").create));
  }

  // A ready pod of the old revision.
  Json& Add(std::int64_t ordinal, const Json& more = Json::object()) {
    Json pod = MakeStatefulPod(set, TemplateOf(old_revision), ordinal, NameOf(old_revision));
    pod["metadata"]["uid"] = NameOf(pod);
    pod["status"] = {
        {"phase", "Running"},
        {"conditions", Json::array({{{"type", "Ready"},
                                     {"status", "True"},
                                     {"lastTransitionTime", "2026-11-22T09:59:50Z"}}})}};
    pod.merge_patch(more);
    return pods.emplace_back(std::move(pod));
  }
  void AddUpdated(std::int64_t ordinal) {
    Add(ordinal)["metadata"]["labels"][kRevisionLabel] = NameOf(*revisions.back());
  }

  StatefulSetPlan Plan() const {
    StatefulSetView view;
    view.set = std::make_shared<const Json>(set);
    for (const Json& pod : pods) view.pods.push_back(std::make_shared<const Json>(pod));
    view.revisions = revisions;
    return PlanStatefulSet(view, kStatefulNow);
  }
  std::vector<std::string> Created() const {
    std::vector<std::string> names;
    for (const Json& pod : Plan().create) names.push_back(NameOf(pod));
    return names;
  }
  std::vector<std::string> Removed() const {
    std::vector<std::string> names;
    for (const std::size_t at : Plan().remove) names.push_back(NameOf(pods[at]));
    return names;
  }

  Json set;
  Json old_revision;
  std::vector<Object> revisions;
  std::vector<Json> pods;
};

const Json kNotReadyPod = {{"status", {{"conditions", nullptr}}}};
const Json kParallel = {{"podManagementPolicy", "Parallel"}};

TEST(StatefulSetPlanTest, APodHasAStableName) {
  const Json pod = Story(StatefulSet(1)).Plan().create.at(0);
  EXPECT_EQ(NameOf(pod), "db-0");
  EXPECT_EQ(pod["spec"]["hostname"], "db-0");
  EXPECT_EQ(pod["spec"]["subdomain"], "peers");
  EXPECT_EQ(LabelOf(pod, "statefulset.kubernetes.io/pod-name"), "db-0");
  EXPECT_EQ(LabelOf(pod, "apps.kubernetes.io/pod-index"), "0");
  EXPECT_EQ(LabelOf(pod, "app"), "db");
  EXPECT_FALSE(pod["metadata"].contains("generateName"));
}

TEST(StatefulSetPlanTest, CreatesPodsInOrder) {
  Story story(StatefulSet(3));
  EXPECT_THAT(story.Created(), ElementsAre("db-0"));
  story.Add(0, kNotReadyPod);
  EXPECT_THAT(story.Created(), IsEmpty());
  story.pods.clear();
  story.Add(0);
  EXPECT_THAT(story.Created(), ElementsAre("db-1"));
  story.set["spec"]["minReadySeconds"] = 30;
  const StatefulSetPlan waits = story.Plan();
  EXPECT_THAT(waits.create, IsEmpty());
  EXPECT_EQ(waits.look_again, ParseTime("2026-11-22T10:00:20Z"));
}

TEST(StatefulSetPlanTest, ParallelPolicyCreatesAllPodsAtOnce) {
  Story story(StatefulSet(3, kParallel));
  story.set["spec"]["ordinals"]["start"] = 5;
  EXPECT_THAT(story.Created(), ElementsAre("db-5", "db-6", "db-7"));
  story.Add(6, kNotReadyPod);
  EXPECT_THAT(story.Created(), ElementsAre("db-5", "db-7"));
}

TEST(StatefulSetPlanTest, ScalesDownFromTheEnd) {
  Story story(StatefulSet(1));
  for (const int ordinal : {0, 1, 2, 3}) story.Add(ordinal);
  EXPECT_THAT(story.Removed(), ElementsAre("db-3"));
  story.pods[0].merge_patch(kNotReadyPod);  // a pod that stays: nothing else moves
  EXPECT_THAT(story.Removed(), IsEmpty());
  story.set["spec"].merge_patch(kParallel);
  EXPECT_THAT(story.Removed(), ElementsAre("db-3", "db-2", "db-1"));
}

TEST(StatefulSetPlanTest, AnUnhealthyPodAboveTheSizeWaitsForTheFirst) {
  Story story(StatefulSet(1));
  for (const int ordinal : {0, 1}) story.Add(ordinal);
  story.Add(2, kNotReadyPod);
  EXPECT_THAT(story.Removed(), ElementsAre("db-2"));
  story.pods[1].merge_patch(kNotReadyPod);
  EXPECT_THAT(story.Removed(), IsEmpty());
}

TEST(StatefulSetPlanTest, RemovesAFailedPodWithAnEvent) {
  Story story(StatefulSet(2));
  story.Add(0, {{"status", {{"phase", "Failed"}}}});
  story.Add(1);
  EXPECT_THAT(story.Removed(), ElementsAre("db-0"));
  EXPECT_EQ(story.Plan().events.at(0).reason, "RecreatingFailedPod");
}

TEST(StatefulSetPlanTest, RollsFromTheEndDownToThePartition) {
  Story story(StatefulSet(3));
  for (const int ordinal : {0, 1, 2}) story.Add(ordinal);
  EXPECT_THAT(story.Removed(), IsEmpty());
  story.ChangeTemplate();
  EXPECT_THAT(story.Removed(), ElementsAre("db-2"));
  story.pods.pop_back();
  const Json made = story.Plan().create.at(0);
  EXPECT_EQ(made["spec"]["containers"][0]["image"], "new");
  EXPECT_EQ(LabelOf(made, kRevisionLabel), NameOf(*story.revisions.back()));
  story.AddUpdated(2);
  EXPECT_THAT(story.Removed(), ElementsAre("db-1"));
  story.set["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = 2;
  EXPECT_THAT(story.Removed(), IsEmpty());
  story.pods.erase(story.pods.begin());  // a pod below the partition keeps the earlier template
  EXPECT_FALSE(story.Plan().create.at(0)["spec"]["containers"][0].contains("image"));
}

TEST(StatefulSetPlanTest, RollsSeveralAtOnceWhereTheyMayBeUnavailable) {
  Story story(StatefulSet(4, kParallel));
  story.set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = "50%";
  for (const int ordinal : {0, 1, 2, 3}) story.Add(ordinal);
  story.ChangeTemplate();
  EXPECT_THAT(story.Removed(), ElementsAre("db-3", "db-2"));
  story.pods[0].merge_patch(kNotReadyPod);  // it costs no availability to replace it
  EXPECT_THAT(story.Removed(), ElementsAre("db-3", "db-0"));
}

TEST(StatefulSetPlanTest, OnDeleteLeavesPodsAlone) {
  Story story(StatefulSet(1, {{"updateStrategy", {{"type", "OnDelete"}}}}));
  story.Add(0);
  story.ChangeTemplate();
  EXPECT_THAT(story.Removed(), IsEmpty());
  story.pods.clear();
  EXPECT_EQ(story.Plan().create.at(0)["spec"]["containers"][0]["image"], "new");
}

TEST(StatefulSetPlanTest, StatusCountsPodsAndRevisions) {
  Story story(StatefulSet(2));
  story.Add(0);
  story.Add(1, kNotReadyPod);
  story.ChangeTemplate();
  const std::string old_name = NameOf(*story.revisions.front());
  const std::string new_name = NameOf(*story.revisions.back());
  EXPECT_EQ(*story.Plan().status, (Json{{"observedGeneration", 2},
                                        {"replicas", 2},
                                        {"readyReplicas", 1},
                                        {"availableReplicas", 1},
                                        {"currentReplicas", 2},
                                        {"currentRevision", old_name},
                                        {"updateRevision", new_name},
                                        {"collisionCount", 0}}));
  story.pods.clear();
  story.AddUpdated(0);
  story.AddUpdated(1);
  const Json done = *story.Plan().status;
  EXPECT_EQ(done["currentRevision"], new_name);
  EXPECT_EQ(done["currentReplicas"], 2);
}

TEST(StatefulSetPlanTest, KeepsUsedRevisionsAndTheHistoryLimit) {
  Story story(StatefulSet(1, {{"revisionHistoryLimit", 0}}));
  story.ChangeTemplate();
  EXPECT_THAT(story.Plan().remove_revisions, IsEmpty());  // the status names the earlier one
  story.set["status"]["currentRevision"] = NameOf(*story.revisions.back());
  EXPECT_THAT(story.Plan().remove_revisions, ElementsAre(story.revisions.front()));
  story.Add(0);
  EXPECT_THAT(story.Plan().remove_revisions, IsEmpty());  // a pod has it
}

TEST(StatefulSetPlanTest, AnEarlierTemplateBecomesTheNewestRevision) {
  Story story(StatefulSet(1));
  story.ChangeTemplate();
  story.set["spec"]["template"]["spec"]["containers"][0].erase("image");
  const StatefulSetPlan plan = story.Plan();
  EXPECT_FALSE(plan.create_revision.has_value());
  EXPECT_EQ(NameOf(*plan.change_revision), NameOf(story.old_revision));
  EXPECT_EQ((*plan.change_revision)["revision"], 3);
}

TEST(StatefulSetPlanTest, AdoptsPodsWithItsNamesAlone) {
  Story story(StatefulSet(1));
  story.Add(0)["metadata"].erase("ownerReferences");
  Json& other = story.Add(1);
  other["metadata"].erase("ownerReferences");
  other["metadata"]["name"] = "db-extra";
  EXPECT_THAT(story.Plan().adopt, ElementsAre(0));
}

TEST(StatefulPodsTest, OrdinalIsReadFromThePodName) {
  EXPECT_EQ(OrdinalOf("db-0", "db"), 0);
  EXPECT_EQ(OrdinalOf("db-12", "db"), 12);
  for (const char* other : {"db", "db-", "db-x", "db-01", "db--1", "dbx-1", "db-1-1"}) {
    EXPECT_EQ(OrdinalOf(other, "db"), std::nullopt) << other;
  }
}

TEST(StatefulPodsTest, ClaimsAreNamedAndOwnedByThePolicy) {
  Json set = StatefulSet(2);
  set["spec"]["volumeClaimTemplates"] = Json::array(
      {{{"metadata", {{"name", "data"}}}, {"spec", {{"accessModes", {"ReadWriteOnce"}}}}}});
  set["spec"]["template"]["spec"]["volumes"] =
      Json::array({{{"name", "data"}, {"emptyDir", Json::object()}}, {{"name", "tmp"}}});
  const Json pod = MakeStatefulPod(set, set["spec"]["template"], 1, "r");
  EXPECT_EQ(pod["spec"]["volumes"],
            Json::parse(R"([{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-1"}},
                            {"name": "tmp"}])"));
  Json claim = ClaimsOf(set, 1).at(0);
  EXPECT_EQ(NameOf(claim), "data-db-1");
  EXPECT_EQ(LabelOf(claim, "app"), "db");
  Json owner_pod = pod;
  owner_pod["metadata"]["uid"] = "p";
  EXPECT_EQ(ClaimOwners(set, claim, &owner_pod, true), std::nullopt);
  set["spec"]["persistentVolumeClaimRetentionPolicy"] = {{"whenScaled", "Delete"}};
  EXPECT_EQ(ClaimOwners(set, claim, &owner_pod, false), std::nullopt);
  const auto owners = ClaimOwners(set, claim, &owner_pod, true);
  EXPECT_EQ((*owners)[0]["uid"], "p");
  claim["metadata"]["ownerReferences"] = *owners;
  EXPECT_EQ(ClaimOwners(set, claim, &owner_pod, false), Json::array());  // scaled up again
  set["spec"]["persistentVolumeClaimRetentionPolicy"] = {{"whenDeleted", "Delete"}};
  EXPECT_EQ((*ClaimOwners(set, claim, &owner_pod, false))[0]["uid"], "u");
  const Json other{{"kind", "StatefulSet"}, {"name", "x"}, {"uid", "o"}, {"controller", true}};
  claim["metadata"]["ownerReferences"] = Json::array({other});
  EXPECT_EQ(ClaimOwners(set, claim, &owner_pod, false), std::nullopt);  // another one's claim
  claim["metadata"]["ownerReferences"] = Json::array({(*owners)[0], other});
  EXPECT_EQ(ClaimOwners(set, claim, &owner_pod, false), Json::array({other}));
}

}  // namespace
}  // namespace berth::local::cluster

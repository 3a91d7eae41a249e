// Goal: what is planned for pods and Workloads that are left behind. Method: the fixture of parents
// of pods; references as the garbage collector leaves them.
#include "integrations/pods/orphaned_pods.h"

#include "tests/integrations/pod_parent_fixture.h"

namespace berth::integrations::pod_parent_test {
namespace {

using ::testing::ElementsAre;

using LeftBehindTest = PodParentTest;

// Deleted with --cascade=orphan, the object's reference goes and its pods run on; made again, the
// object takes the pods and their Workload.
TEST_F(LeftBehindTest, RecreatedObjectAdoptsTheWorkloadOfItsPods) {
  situation_.job.meta.uid = "0000";
  api::Workload& workload = AddWorkload();
  Admit(workload);
  workload.meta.owner_references = {
      {.api_version = "v1", .kind = "Pod", .name = "db-0", .uid = "uid-db-0"}};
  const std::string name = workload.meta.name;
  AddPod("db-0", "marked running");
  situation_.job.meta.uid = "0001";
  EXPECT_NE(NameOf(), name);
  EXPECT_THAT(Words(), ElementsAre("owner StatefulSet 0001"));
  workload.meta.owner_references.push_back(
      {.api_version = "apps/v1", .kind = "StatefulSet", .name = "db", .uid = "0001"});
  EXPECT_THAT(Words(), ElementsAre());
  // One that has ended is of no use.
  workload.meta.owner_references.pop_back();
  Set(workload, api::kFinished, api::ConditionStatus::kTrue, "Succeeded");
  EXPECT_THAT(Words(), ElementsAre("create " + NameOf(), "event CreatedWorkload", "mark db-0"));
}

// The garbage collector has not taken the reference to the earlier object away yet.
TEST_F(LeftBehindTest, AdoptedPodsBringTheWorkloadOfTheirFormerOwner) {
  situation_.job.meta.uid = "0000";
  const std::string name = AddWorkload().meta.name;
  AddPod("db-0", "marked running");
  situation_.job.meta.uid = "0001";
  EXPECT_THAT(Words(), ElementsAre("owner StatefulSet 0001"));
  EXPECT_NE(NameOf(), name);
}

TEST_F(LeftBehindTest, GroupAdoptsTheWorkloadOfItsIndex) {
  UseLeaderWorkerSet(2);
  situation_.job.meta.uid = "0000";
  AddWorkload(1).meta.owner_references.clear();
  situation_.job.meta.uid = "0001";
  EXPECT_THAT(Words(), ElementsAre("create " + NameOf(0), "event CreatedWorkload",
                                   "owner LeaderWorkerSet 0001"));
}

TEST_F(LeftBehindTest, AWorkloadThatHasLostItsReferenceIsFoundByItsAnnotations) {
  api::Workload& workload = AddWorkload();
  EXPECT_FALSE(LostParentOf(workload.meta));
  workload.meta.owner_references.clear();
  const auto lost = LostParentOf(workload.meta);
  ASSERT_TRUE(lost);
  EXPECT_EQ(*lost,
            (api::OwnerReference{.api_version = "apps/v1", .kind = "StatefulSet", .name = "db"}));
  EXPECT_THAT(Words(), ElementsAre("owner StatefulSet 0001"));
  workload.meta.annotations.erase(api::kIsGroupWorkloadAnnotation);
  EXPECT_FALSE(LostParentOf(workload.meta));
}

std::vector<std::string> LetGo(const JobPlan& plan) {
  std::vector<std::string> names;
  for (const JobAction& action : plan.actions) {
    const auto* marks = std::get_if<MarkPods>(&action);
    if (marks == nullptr) continue;
    for (const PodMark& mark : marks->pods) {
      EXPECT_TRUE(mark.ungate);
      names.push_back(mark.pod);
    }
  }
  return names;
}

TEST_F(LeftBehindTest, OrphansWithoutALiveWorkloadAreUngated) {
  api::Workload& workload = AddWorkload();
  workload.meta.owner_references = {
      {.api_version = "v1", .kind = "Pod", .name = "waits", .uid = "uid-waits"}};
  AddPod("waits", "marked");
  AddPod("unmarked");
  AddPod("runs", "running");
  AddPod("goes", "deleting");
  AddPod("over", "ended");
  std::vector<ParentedPodPtr> orphans(pods_.begin(), pods_.end());
  EXPECT_THAT(LetGo(PlanMissingParent(orphans, situation_.workloads, At(10))),
              ElementsAre("unmarked"));
  // Nothing admits the marked one any more.
  Set(workload, api::kFinished, api::ConditionStatus::kTrue, "Failed");
  EXPECT_THAT(LetGo(PlanMissingParent(orphans, situation_.workloads, At(10))),
              ElementsAre("waits", "unmarked"));
}

TEST_F(LeftBehindTest, WorkloadWithoutOwnersAndPodsIsFinished) {
  api::Workload& workload = AddWorkload();
  EXPECT_TRUE(PlanMissingParent({}, situation_.workloads, At(10)).actions.empty())
      << "the garbage collector deletes it with the object";
  workload.meta.owner_references.clear();
  const JobPlan plan = PlanMissingParent({}, situation_.workloads, At(10));
  ASSERT_EQ(plan.actions.size(), 1U);
  EXPECT_EQ(std::get<SetWorkloadCondition>(plan.actions[0]).condition.reason, api::kOwnerNotFound);
  workload.meta.owner_references = {
      {.api_version = "v1", .kind = "Pod", .name = "db-0", .uid = "uid-db-0"}};
  EXPECT_TRUE(PlanMissingParent({}, situation_.workloads, At(10)).actions.empty())
      << "its pods may run";
}

}  // namespace
}  // namespace berth::integrations::pod_parent_test

// Goal: what is planned for a parent of pods: its Workloads and the marks of its pods, row by row
// of its states. Method: the built-in StatefulSet and LeaderWorkerSet; pods and Workloads as in
// Kueue's recordings.
#include "integrations/pods/pod_parent.h"

#include "tests/integrations/pod_parent_fixture.h"

namespace berth::integrations::pod_parent_test {
namespace {

using ::testing::ElementsAre;

TEST_F(PodParentTest, WorkloadIsCreatedBeforeThePods) {
  const JobPlan plan = Plan();
  ASSERT_EQ(plan.actions.size(), 2U);
  const api::Workload made = std::get<CreateWorkload>(plan.actions[0]).workload;
  EXPECT_EQ(made.meta.annotations,
            (api::StringMap{{"kueue.x-k8s.io/is-group-workload", "true"},
                            {"kueue.x-k8s.io/job-owner-gvk", "apps/v1, Kind=StatefulSet"},
                            {"kueue.x-k8s.io/job-owner-name", "db"}}));
  EXPECT_EQ(made.meta.labels, (api::StringMap{{api::kJobUidLabel, "0001"}}));
  ASSERT_EQ(made.meta.owner_references.size(), 1U);
  EXPECT_FALSE(made.meta.owner_references[0].controller);
  EXPECT_EQ(made.meta.finalizers, std::vector<std::string>{api::kResourceInUseFinalizer});
  EXPECT_EQ(made.spec.queue_name, "lq");
  EXPECT_EQ(made.spec.pod_sets[0].count, 2);
  EXPECT_EQ(OwningJobOf(made.meta)->name, "db");
}

TEST_F(PodParentTest, WorkloadsHaveKueuesNames) {
  situation_.job.meta.uid = "a55b2e5f-0f37-4397-896b-4d85eaf77a5d";
  EXPECT_EQ(NameOf(), "statefulset-db-9a7d6");  // recorded
  UseLeaderWorkerSet(1);
  situation_.job.meta.name = "lws";
  situation_.job.meta.uid = "0001";
  EXPECT_EQ(NameOf(2), "leaderworkerset-lws-2-a0331");
}

TEST_F(PodParentTest, UnqueuedObjectIsLeftAlone) {
  AddPod("db-0");
  situation_.job.meta.labels.clear();
  EXPECT_THAT(Words(), ElementsAre());
  situation_.queue_name_rule = QueueNameRule::kManageWithoutName;
  EXPECT_EQ(Words().size(), 3U);
  situation_.ancestor = ManagedAncestor{};
  EXPECT_THAT(Words(), ElementsAre());
  situation_.ancestor.reset();
  situation_.namespace_rule = NamespaceRule::kUnmanaged;
  EXPECT_THAT(Words(), ElementsAre());
}

TEST_F(PodParentTest, PodsAreMarkedUpToTheCount) {
  AddWorkload();
  AddPod("db-2", "", 3);
  AddPod("db-1", "", 2);
  AddPod("db-0", "", 1);
  AddPod("old", "marked deleting running");
  EXPECT_THAT(Words(), ElementsAre("mark db-0", "mark db-1"));
  AddPod("first", "marked running", 9);
  EXPECT_THAT(Words(), ElementsAre("mark db-0"));
}

TEST_F(PodParentTest, MarksAgreeWithKueuesRecording) {
  AddWorkload();
  AddPod("db-0");
  const JobPlan plan = Plan();
  ASSERT_EQ(plan.actions.size(), 1U);
  const PodMark mark = std::get<MarkPods>(plan.actions[0]).pods[0];
  EXPECT_EQ(mark.labels, (api::StringMap{{"kueue.x-k8s.io/managed", "true"},
                                         {"kueue.x-k8s.io/queue-name", "lq"}}));
  EXPECT_EQ(
      mark.annotations,
      (api::StringMap{{"kueue.x-k8s.io/pod-group-fast-admission", "true"},
                      {"kueue.x-k8s.io/pod-group-name", NameOf()},
                      {"kueue.x-k8s.io/pod-group-pod-index-label", "apps.kubernetes.io/pod-index"},
                      {"kueue.x-k8s.io/pod-group-serving", "true"},
                      {"kueue.x-k8s.io/pod-group-total-count", "2"},
                      {"kueue.x-k8s.io/prebuilt-workload-name", NameOf()},
                      {"kueue.x-k8s.io/role-hash", "main"}}));
}

TEST_F(PodParentTest, MarkedPodsAreNotMarkedAgain) {
  AddWorkload();
  AddPod("db-0", "marked");
  AddPod("db-1", "marked running");
  EXPECT_THAT(Words(), ElementsAre());
}

TEST_F(PodParentTest, PodsFollowTheParentsQueue) {
  AddWorkload();
  AddPod("db-0", "marked");
  situation_.job.meta.labels[api::kQueueLabel] = "other";
  EXPECT_THAT(Words(), ElementsAre("queue other", "mark db-0"));
}

TEST_F(PodParentTest, KindThatKeepsLabelsOnlyAddsMissingLabels) {
  auto kind = std::make_shared<KindDescription>(*kind_);
  kind->pods->keep_labels = true;
  kind_ = kind;
  AddWorkload();
  AddPod("db-0").meta.labels[api::kQueueLabel] = "other";
  const JobPlan plan = Plan();
  EXPECT_EQ(std::get<MarkPods>(plan.actions[0]).pods[0].labels,
            (api::StringMap{{"kueue.x-k8s.io/managed", "true"}}));
}

TEST_F(PodParentTest, ScaledToZeroReleasesQuotaAfterThePods) {
  Admit(AddWorkload());
  situation_.job.pod_sets[0].count = 0;
  AddPod("db-0", "marked running deleting");
  EXPECT_THAT(Words(), ElementsAre());
  pods_.clear();
  EXPECT_THAT(Words(),
              ElementsAre("release: OnHold: StatefulSet scaled to zero; workload on hold"));
  Hold(situation_.workloads[0]);
  situation_.workloads[0].status.admission.reset();
  EXPECT_THAT(Words(), ElementsAre());
}

TEST_F(PodParentTest, ScaleUpFromZeroQueuesTheNewSize) {
  Hold(AddWorkload());
  situation_.job.pod_sets[0].count = 3;
  EXPECT_THAT(Words(),
              ElementsAre("resize to 3", "event UpdatedWorkload",
                          "release: PendingEvaluation: Workload no longer on hold; waiting for "
                          "quota reservation"));
}

TEST_F(PodParentTest, ObjectWithoutPodsGetsNoWorkload) {
  situation_.job.pod_sets[0].count = 0;
  EXPECT_THAT(Words(), ElementsAre());
}

TEST_F(PodParentTest, AnAdmittedWorkloadKeepsItsSizeAndItsQueue) {
  Admit(AddWorkload());
  situation_.job.pod_sets[0].pod_template.spec.containers[0].image = "other";
  situation_.job.meta.labels[api::kQueueLabel] = "other";
  EXPECT_THAT(Words(), ElementsAre());
}

TEST_F(PodParentTest, TheOwnerReferenceIsRepaired) {
  AddWorkload().meta.owner_references[0].uid = "another";
  EXPECT_THAT(Words(), ElementsAre("owner StatefulSet 0001"));
}

TEST_F(PodParentTest, WorkloadOfAnEarlierSetOfTheSameNameStays) {
  situation_.job.meta.uid = "0000";
  AddWorkload();
  situation_.job.meta.uid = "0001";
  EXPECT_THAT(Words(), ElementsAre("create " + NameOf(), "event CreatedWorkload"));
}

TEST_F(PodParentTest, AWorkloadWithTheOldNameIsUsed) {
  api::Workload& workload = AddWorkload();
  JobView without = situation_.job;
  without.meta.uid.clear();
  workload.meta.name = GroupWorkloadName(without, *kind_->pods, 0);
  AddPod("db-0");
  const JobPlan plan = Plan();
  ASSERT_EQ(plan.actions.size(), 1U);
  EXPECT_EQ(std::get<MarkPods>(plan.actions[0]).pods[0].annotations.at(api::kPodGroupNameLabel),
            workload.meta.name);
}

// An earlier Kueue made the Workload with its pods as owners, or with none.
TEST_F(PodParentTest, AdoptsTheGroupWorkloadOfAnEarlierKueue) {
  api::Workload& workload = AddWorkload();
  workload.meta.name = EarlierWorkloadName(situation_.job, *kind_->pods, 0);
  workload.meta.annotations = {{api::kIsGroupWorkloadAnnotation, "true"}};
  workload.meta.owner_references.clear();
  EXPECT_THAT(Words(), ElementsAre("owner StatefulSet 0001"));
  workload.meta.owner_references = {{.api_version = "v1", .kind = "Pod", .name = "db-0"}};
  EXPECT_THAT(Words(), ElementsAre("owner StatefulSet 0001"));
  const std::vector<std::string> makes{"create " + NameOf(), "event CreatedWorkload"};
  workload.meta.annotations.clear();
  EXPECT_EQ(Words(), makes) << "not of a group";
  workload.meta.annotations = {{api::kIsGroupWorkloadAnnotation, "true"}};
  Set(workload, api::kFinished, api::ConditionStatus::kTrue, "Succeeded");
  EXPECT_EQ(Words(), makes) << "of an earlier run";
}

TEST_F(PodParentTest, GatedPodOfTheOldRevisionIsUngated) {
  AddWorkload();
  situation_.job.pod_parent->old_revision = "db-1";
  AddPod("db-0").meta.labels["controller-revision-hash"] = "db-1";
  AddPod("db-1").meta.labels["controller-revision-hash"] = "db-2";
  EXPECT_THAT(Words(), ElementsAre("ungate db-0", "mark db-1"));
}

// No plan of pods would release the quota: none of the pods is marked.
TEST_F(PodParentTest, EvictedWorkloadWithoutPodsReleasesItsQuota) {
  Admit(AddWorkload());
  Set(situation_.workloads[0], api::kEvicted, api::ConditionStatus::kTrue, api::kPreempted);
  const JobPlan plan = Plan();
  ASSERT_EQ(plan.actions.size(), 1U);
  const auto& status = std::get<ReleaseQuota>(plan.actions[0]).status;
  EXPECT_FALSE(api::IsTrue(status.conditions, api::kQuotaReserved));
  EXPECT_FALSE(status.admission);
  AddPod("db-0", "marked running");
  EXPECT_THAT(Words(), ElementsAre());
}

TEST_F(PodParentTest, AnInactiveWorkloadOfNoPodsKeepsItsReason) {
  AddWorkload();
  Set(situation_.workloads[0], api::kQuotaReserved, api::ConditionStatus::kFalse,
      api::kDeactivated);
  situation_.workloads[0].spec.active = false;
  situation_.job.pod_sets[0].count = 0;
  EXPECT_THAT(Words(), ElementsAre());
}

TEST_F(PodParentTest, WorkloadsOfManyGroupsAreCreatedInBatches) {
  UseLeaderWorkerSet(250);
  const JobPlan plan = Plan();
  EXPECT_EQ(plan.actions.size(), 200U) << "a hundred Workloads, each with its event";
  EXPECT_TRUE(plan.look_again.has_value());
  situation_.job.pod_parent->groups = 1'000'001;
  EXPECT_THAT(Words(), ElementsAre("event ErrWorkloadCompose"));
}

TEST_F(PodParentTest, RunningPodKeepsItsQueue) {
  Admit(AddWorkload());
  AddPod("db-0", "marked running");
  situation_.job.meta.labels[api::kQueueLabel] = "other";
  EXPECT_THAT(Words(), ElementsAre());
}

TEST_F(PodParentTest, AnAdmittedGroupKeepsItsTotalCount) {
  Admit(AddWorkload());
  AddPod("db-0", "marked running");
  situation_.job.pod_sets[0].count = 5;  // by the subresource scale, which no review sees
  const JobPlan plan = Plan();
  ASSERT_EQ(plan.actions.size(), 1U);
  EXPECT_EQ(std::get<EmitEvent>(plan.actions[0]).message,
            "the admitted Workload default/" + NameOf() +
                " counts 2 pods, and the object asks for 5: scale to 0 and back to queue another "
                "size");
}

TEST_F(PodParentTest, RemovedAdmissionGatesAreRemovedFromTheWorkload) {
  situation_.job.meta.annotations[api::kAdmissionGatedByAnnotation] = "example.com/a,example.com/b";
  AddWorkload();
  EXPECT_THAT(Words(), ElementsAre());
  situation_.job.meta.annotations[api::kAdmissionGatedByAnnotation] = "example.com/b";
  const JobPlan plan = Plan();
  ASSERT_EQ(plan.actions.size(), 2U);
  EXPECT_EQ(std::get<SetAnnotation>(plan.actions[0]).value, "example.com/b");
  situation_.job.meta.annotations.clear();
  const JobPlan all = Plan();
  EXPECT_EQ(std::get<SetAnnotation>(all.actions.at(0)).value, "");
  // A gate that somebody has opened on the Workload stays open.
  situation_.workloads[0].meta.annotations.erase(api::kAdmissionGatedByAnnotation);
  situation_.job.meta.annotations[api::kAdmissionGatedByAnnotation] = "example.com/a";
  EXPECT_THAT(Words(), ElementsAre());
}

TEST_F(PodParentTest, ProblemEmitsAnEventAndNothingElse) {
  situation_.job.problem = "spec.template: the pod template is missing";
  AddPod("db-0");
  EXPECT_THAT(Words(), ElementsAre("event ErrWorkloadCompose"));
}

TEST_F(PodParentTest, MissingPriorityClassIsRetried) {
  situation_.job.meta.labels[api::kPriorityClassLabel] = "missing";
  const JobPlan plan = Plan();
  EXPECT_EQ(plan.retry, "WorkloadPriorityClass \"missing\" not found");
}

TEST_F(PodParentTest, AFinishedObjectFinishesItsWorkloads) {
  AddWorkload();
  situation_.job.finished = JobOutcome{true, ""};
  EXPECT_THAT(Words(), ElementsAre("Finished Succeeded", "event FinishedWorkload"));
  Set(situation_.workloads[0], api::kFinished, api::ConditionStatus::kTrue, "Succeeded");
  EXPECT_THAT(Words(), ElementsAre());
}

TEST_F(PodParentTest, EachGroupHasAWorkload) {
  UseLeaderWorkerSet(2);
  const JobPlan plan = Plan();
  ASSERT_EQ(plan.actions.size(), 4U);
  const api::Workload second = std::get<CreateWorkload>(plan.actions[2]).workload;
  EXPECT_EQ(second.meta.annotations.at(api::kComponentWorkloadIndexAnnotation), "1");
  EXPECT_EQ(second.meta.annotations.at(api::kJobOwnerGvkAnnotation),
            "leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet");
  EXPECT_EQ(second.spec.pod_sets.size(), 2U);
  AddWorkload(0);
  AddWorkload(1);
  AddWorkload(2);
  EXPECT_THAT(Words(), ElementsAre("end " + NameOf(2), "event DeletedWorkload"));
  // The plan of its pods removes the finalizer when they are gone.
  situation_.workloads[2].meta.deletion_timestamp = At(5);
  EXPECT_THAT(Words(), ElementsAre());
}

TEST_F(PodParentTest, PodsOfGroupsAreMarkedWithTheirRoles) {
  UseLeaderWorkerSet(2);
  AddWorkload(0);
  AddWorkload(1);
  const auto add = [this](const std::string& name, const std::string& group, bool worker) {
    ParentedPod& pod = AddPod(name);
    pod.meta.labels["leaderworkerset.sigs.k8s.io/group-index"] = group;
    if (worker) pod.meta.annotations["leaderworkerset.sigs.k8s.io/leader-name"] = "lws-0";
  };
  add("lws-0", "0", false);
  add("lws-1-1", "1", true);
  add("lws-5", "5", false);  // its group has no Workload
  AddPod("without-index");
  const JobPlan plan = Plan();
  ASSERT_EQ(plan.actions.size(), 1U);
  const auto& marks = std::get<MarkPods>(plan.actions[0]).pods;
  ASSERT_EQ(marks.size(), 2U);
  EXPECT_EQ(marks[0].annotations.at(api::kRoleHashAnnotation), "leader");
  EXPECT_EQ(marks[0].annotations.at(api::kPodGroupTotalCountAnnotation), "3");
  EXPECT_EQ(marks[0].annotations.count(api::kPodGroupFastAdmissionAnnotation), 0U);
  EXPECT_EQ(marks[1].annotations.at(api::kRoleHashAnnotation), "worker");
  EXPECT_EQ(marks[1].annotations.at(api::kPodGroupNameLabel), NameOf(1));
}

TEST_F(PodParentTest, ARunningPodOfAGroupKeepsItsQueue) {
  UseLeaderWorkerSet(1);
  AddWorkload();
  AddPod("lws-0", "running").meta.labels["leaderworkerset.sigs.k8s.io/group-index"] = "0";
  AddPod("lws-0-1").meta.labels["leaderworkerset.sigs.k8s.io/group-index"] = "0";
  pods_[1]->meta.annotations["leaderworkerset.sigs.k8s.io/leader-name"] = "lws-0";
  const JobPlan plan = Plan();
  const auto& marks = std::get<MarkPods>(plan.actions[0]).pods;
  ASSERT_EQ(marks.size(), 2U);
  EXPECT_EQ(marks[0].labels.count(api::kQueueLabel), 0U);
  EXPECT_EQ(marks[1].labels.at(api::kQueueLabel), "lq");
}

TEST_F(PodParentTest, MissingParentKeepsTheFinalizerUntilTheWorkloadsDeletion) {
  api::Workload& workload = AddWorkload();
  EXPECT_TRUE(PlanMissingJob(situation_.workloads, At(0)).actions.empty());
  workload.meta.deletion_timestamp = At(1);
  EXPECT_EQ(PlanMissingJob(situation_.workloads, At(0)).actions.size(), 1U);
}

}  // namespace
}  // namespace berth::integrations::pod_parent_test

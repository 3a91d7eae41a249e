// Goal: each step of the reconcile order, by its actions.
// Method: a situation in, the actions' names out; contents are compared where they matter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integrations/action_plan.h"
#include "tests/integrations/fixtures.h"

namespace berth::integrations {
namespace {

using testing::At;
using ::testing::ElementsAre;
using testing::GpuJob;
using ::testing::IsEmpty;
using testing::SetTrue;
using testing::SpotFlavor;
using testing::WorkloadFor;

std::string NameOf(const JobAction& action) {
  struct Names {
    std::string operator()(const CreateWorkload&) const { return "create"; }
    std::string operator()(const DeleteWorkload&) const { return "delete"; }
    std::string operator()(const EndWorkload&) const { return "end"; }
    std::string operator()(const RemoveWorkloadFinalizer&) const { return "finalizer"; }
    std::string operator()(const UpdateWorkloadSpec&) const { return "update"; }
    std::string operator()(const AdoptWorkload&) const { return "adopt"; }
    std::string operator()(const SetQueueName& a) const { return "queue " + a.queue_name; }
    std::string operator()(const SetAnnotation& a) const {
      const bool gates = a.annotation == api::kAdmissionGatedByAnnotation;
      return (gates ? "gates " : a.annotation + " ") + a.value;
    }
    std::string operator()(const SetPriority&) const { return "priority"; }
    std::string operator()(const SetReclaimablePods&) const { return "reclaimable"; }
    std::string operator()(const SetWorkloadCondition& a) const {
      return a.condition.type + "=" + a.condition.reason;
    }
    std::string operator()(const ReleaseQuota&) const { return "release"; }
    std::string operator()(const StartJob&) const { return "start"; }
    std::string operator()(const StopJob& a) const {
      return a.originals.empty() ? "stop" : "stop+restore";
    }
    std::string operator()(const RestartJob&) const { return "restart"; }
    std::string operator()(const ResizeGroup&) const { return "resize"; }
    std::string operator()(const DeleteMakers&) const { return "delete makers"; }
    std::string operator()(const ReleasePods&) const { return "release pods"; }
    std::string operator()(const AddOwners&) const { return "owners"; }
    std::string operator()(const MarkPods&) const { return "marks"; }
    std::string operator()(const DeleteJob&) const { return "delete job"; }
    std::string operator()(const EmitEvent& a) const { return "event " + a.reason; }
  };
  return std::visit(Names{}, action);
}

class JobPlanTest : public ::testing::Test {
 protected:
  std::vector<std::string> Plan() {
    situation_.job = ViewOf(job_);
    situation_.flavors = &flavors_;
    plan_ = PlanJob(situation_, At(0));
    return Names();
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const JobAction& action : plan_.actions) names.push_back(NameOf(action));
    return names;
  }
  template <typename Action>
  const Action& Get(std::size_t index) {
    return std::get<Action>(plan_.actions.at(index));
  }
  api::Workload& AddWorkload() {
    situation_.pods_ready_rule = PodsReadyRule::kIgnore;
    return situation_.workloads.emplace_back(WorkloadFor(job_));
  }

  api::Job job_ = GpuJob();
  FlavorsByName flavors_ = SpotFlavor();
  JobSituation situation_;
  JobPlan plan_;
};

TEST_F(JobPlanTest, CreatesAWorkloadForANewJob) {
  EXPECT_THAT(Plan(), ElementsAre("create", "event CreatedWorkload"));
  EXPECT_EQ(Get<EmitEvent>(1).message,
            "Created Workload: " + Get<CreateWorkload>(0).workload.meta.key().ToString());
}

TEST_F(JobPlanTest, WithoutQueueNothingHappens) {
  job_.meta.labels.clear();
  EXPECT_THAT(Plan(), IsEmpty());
  situation_.queue_name_rule = QueueNameRule::kManageWithoutName;
  EXPECT_THAT(Plan(), ElementsAre("create", "event CreatedWorkload"));
  situation_.namespace_rule = NamespaceRule::kUnmanaged;
  EXPECT_THAT(Plan(), IsEmpty());
}

TEST_F(JobPlanTest, MissingPriorityClassIsRetried) {
  job_.meta.labels[api::kPriorityClassLabel] = "gone";
  EXPECT_THAT(Plan(), ElementsAre("event WorkloadPriorityClassNotFound"));
  EXPECT_TRUE(plan_.retry.has_value());
}

TEST_F(JobPlanTest, ARunningJobWithoutWorkloadIsStoppedFirst) {
  job_.suspend = false;
  job_.active = 1;
  EXPECT_THAT(Plan(), ElementsAre("stop", "event Stopped"));
  EXPECT_EQ(Get<EmitEvent>(1).message, "Missing Workload; unable to restore pod templates");
}

TEST_F(JobPlanTest, PendingWorkloadNeedsNoAction) {
  AddWorkload();
  EXPECT_THAT(Plan(), IsEmpty());
}

TEST_F(JobPlanTest, AnAdmittedJobIsStartedOnTheNodesOfItsFlavor) {
  testing::Admit(AddWorkload());
  EXPECT_THAT(Plan(), ElementsAre("start", "event Started"));
  EXPECT_EQ(Get<EmitEvent>(1).message, "Admitted by clusterQueue cq");
  EXPECT_EQ(Get<StartJob>(0).pod_sets.front().node_selector.at("capacity"), "spot");
}

TEST_F(JobPlanTest, ConflictingNodeSelectorFinishesAsFailedToStart) {
  job_.pod_template.spec.node_selector["capacity"] = "reserved";
  testing::Admit(AddWorkload());
  EXPECT_THAT(Plan(), ElementsAre("Finished=FailedToStart"));
}

TEST_F(JobPlanTest, AMissingFlavorDelaysTheStart) {
  testing::Admit(AddWorkload());
  flavors_.clear();
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_EQ(plan_.retry, "ResourceFlavor spot does not exist");
}

TEST_F(JobPlanTest, RunningAndAdmittedIsLeftAlone) {
  testing::Admit(AddWorkload());
  job_.suspend = false;
  EXPECT_THAT(Plan(), IsEmpty());
}

TEST_F(JobPlanTest, RunningButNotAdmittedIsStopped) {
  AddWorkload();
  job_.suspend = false;
  EXPECT_THAT(Plan(), ElementsAre("stop+restore", "event Stopped"));
  EXPECT_EQ(Get<EmitEvent>(1).message, "Not admitted by cluster queue");
}

// Simulation, template-changed, seed 5450: a Job admitted between two writes of its stop was
// neither stopped nor started.
TEST_F(JobPlanTest, StopIsCompletedBeforeAnAdmittedJobStarts) {
  testing::Admit(AddWorkload());
  job_.meta.annotations[api::kStoppingAnnotation] = "true";
  EXPECT_THAT(Plan(), ElementsAre("stop+restore"));
  job_.meta.annotations.clear();
  EXPECT_THAT(Plan(), ElementsAre("start", "event Started"));
}

// Simulation, released-while-running, seed 5343: a Workload that did not match was deleted
// while its job's pods were ending.
TEST_F(JobPlanTest, ANotMatchingWorkloadHoldsItsQuotaUntilThePodsAreGone) {
  api::Workload& workload = AddWorkload();
  testing::Admit(workload);
  workload.meta.deletion_timestamp = At(0);
  job_.parallelism = 2;
  job_.completions = 2;
  job_.suspend = true;
  job_.active = 1;
  EXPECT_THAT(Plan(), IsEmpty());
  job_.active = 0;
  EXPECT_THAT(Plan(), ElementsAre("finalizer"));
}

TEST_F(JobPlanTest, EvictionStopsTheJobThenReleasesItsQuota) {
  api::Workload& workload = AddWorkload();
  testing::Admit(workload);
  SetTrue(workload, api::kEvicted, "Preempted", "to make room");
  job_.suspend = false;
  job_.active = 1;
  EXPECT_THAT(Plan(), ElementsAre("stop+restore", "event Stopped"));
  EXPECT_EQ(Get<EmitEvent>(1).message, "to make room");
  job_.suspend = true;
  EXPECT_THAT(Plan(), IsEmpty()) << "pods are still there";
  job_.active = 0;
  EXPECT_THAT(Plan(), ElementsAre("release"));
  EXPECT_FALSE(Get<ReleaseQuota>(0).status.admission.has_value());
}

// Simulation, template-changed, seed 20164: a Job was released with the node selector of its
// flavor, and asked for no other flavor afterwards.
TEST_F(JobPlanTest, JobSuspendedByItsOwnerIsRestoredBeforeTheRelease) {
  api::Workload& workload = AddWorkload();
  testing::Admit(workload);
  job_.suspend = true;
  job_.active = 1;
  job_.pod_template.labels[api::kClusterQueueNameLabel] = "team";
  SetTrue(workload, api::kEvicted, "Deactivated", "The workload is deactivated");
  EXPECT_THAT(Plan(), IsEmpty()) << "the API refuses it while pods are there";
  job_.active = 0;
  EXPECT_THAT(Plan(), ElementsAre("stop+restore", "release"));
  workload.status.conditions.pop_back();
  workload.meta.deletion_timestamp = At(0);
  EXPECT_THAT(Plan(), ElementsAre("stop+restore", "finalizer"));
  workload.meta.deletion_timestamp.reset();
  job_.parallelism = 2;
  job_.completions = 2;
  EXPECT_THAT(Plan(), ElementsAre("stop+restore", "delete", "event DeletedWorkload"));
}

TEST_F(JobPlanTest, JobIsNotStartedBesideTerminatingPods) {
  testing::Admit(AddWorkload());
  job_.suspend = true;
  job_.active = 1;
  EXPECT_THAT(Plan(), ElementsAre("start", "event Started")) << "nobody has been told to stop";
  job_.active = 0;
  job_.terminating = 1;
  job_.conditions = {
      {.type = "Suspended", .status = api::ConditionStatus::kTrue, .last_transition_time = At(0)}};
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_EQ(plan_.look_again, std::chrono::seconds(90)) << "their grace period and a minute";
  job_.terminating = 0;
  EXPECT_THAT(Plan(), ElementsAre("start", "event Started"));
}

// Terminating pods use their quota until they have ended; but not for ever.
TEST_F(JobPlanTest, TerminatingPodsKeepTheirQuotaForTheirGracePeriod) {
  api::Workload& workload = AddWorkload();
  testing::Admit(workload);
  SetTrue(workload, api::kEvicted, "Preempted", "to make room");
  job_.suspend = true;
  job_.terminating = 1;
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_EQ(plan_.look_again, std::nullopt) << "the Job controller has not seen it yet";
  const auto told_at = [this](const char* type, int seconds) {
    job_.conditions = {
        {.type = type, .status = api::ConditionStatus::kTrue, .last_transition_time = At(seconds)}};
  };
  told_at("FailureTarget", -20);
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_EQ(plan_.look_again, std::chrono::seconds(70)) << "their grace period and a minute";
  told_at("Suspended", -90);
  EXPECT_THAT(Plan(), ElementsAre("release")) << "a machine that does not answer";
  job_.grace_seconds = 600;
  EXPECT_THAT(Plan(), IsEmpty());
  workload.meta.deletion_timestamp = At(0);
  EXPECT_THAT(Plan(), IsEmpty());
  situation_.workloads.clear();
  EXPECT_THAT(Plan(), IsEmpty()) << "nor is a Workload made for what still runs";
  job_.terminating = 0;
  EXPECT_THAT(Plan(), ElementsAre("create", "event CreatedWorkload"));
}

TEST_F(JobPlanTest, DeactivatedJobIsDeletedAfterItsRetention) {
  struct Row {
    const char* reason;  // the reason of Evicted, at second -60
    std::optional<Duration> keep;
    bool active;
    bool deleted;
    std::optional<Duration> look_again;
  };
  using std::chrono::seconds;
  const std::string limit = "DeactivatedDueToRequeuingLimitExceeded";
  const std::vector<Row> rows = {
      {limit.c_str(), std::nullopt, false, false, std::nullopt},
      {limit.c_str(), seconds(100), false, false, seconds(40)},
      {limit.c_str(), seconds(60), false, true, std::nullopt},
      {limit.c_str(), seconds(60), true, false, std::nullopt},       // a user reactivated it
      {"Deactivated", seconds(60), false, false, std::nullopt},      // by hand
      {"PodsReadyTimeout", seconds(60), false, false, std::nullopt}  // requeued later
  };
  for (const Row& row : rows) {
    situation_.workloads.clear();
    api::Workload& workload = AddWorkload();
    workload.spec.active = row.active;
    SetTrue(workload, api::kEvicted, row.reason);
    for (api::Condition& condition : workload.status.conditions) {
      condition.last_transition_time = At(-60);
    }
    situation_.keep_deactivated = row.keep;
    const std::vector<std::string> actions = Plan();
    if (row.deleted) {
      EXPECT_THAT(actions, ElementsAre("delete job", "event Deleted")) << row.reason;
    } else {
      EXPECT_THAT(actions, IsEmpty()) << row.reason;
    }
    EXPECT_EQ(plan_.look_again, row.look_again) << row.reason;
  }
}

TEST_F(JobPlanTest, EvictionOfAJobThatNeverRanReleasesAtOnce) {
  api::Workload& workload = AddWorkload();
  testing::Reserve(workload);
  SetTrue(workload, api::kEvicted, "AdmissionCheck");
  EXPECT_THAT(Plan(), ElementsAre("release"));
}

TEST_F(JobPlanTest, TheWorkloadOfAnEarlierJobOfThatNameIsDeleted) {
  AddWorkload().meta.owner_references.front().uid = "of another life";
  EXPECT_THAT(Plan(), ElementsAre("delete", "event DeletedWorkload"));
}

TEST_F(JobPlanTest, MovedJobDeletesItsReservedWorkload) {
  testing::Reserve(AddWorkload());
  job_.meta.labels[api::kQueueLabel] = "elsewhere";
  EXPECT_THAT(Plan(), ElementsAre("delete", "event DeletedWorkload"))
      << "the queue of a workload that holds quota cannot change";
}

TEST_F(JobPlanTest, WaitingEvictedJobChangesItsQueue) {
  api::Workload& workload = AddWorkload();
  SetTrue(workload, api::kEvicted, "Preempted");
  job_.meta.labels[api::kQueueLabel] = "elsewhere";
  EXPECT_THAT(Plan(), ElementsAre("queue elsewhere"));
}

TEST_F(JobPlanTest, FinishedJobFinishesItsWorkloadOnce) {
  api::Workload& workload = AddWorkload();
  testing::Admit(workload);
  job_.suspend = false;
  job_.conditions = {{.type = "Complete", .status = api::ConditionStatus::kTrue}};
  EXPECT_THAT(Plan(), ElementsAre("Finished=Succeeded", "event FinishedWorkload"));
  EXPECT_EQ(Get<SetWorkloadCondition>(0).condition.message, "Job finished successfully");
  SetTrue(situation_.workloads[0], api::kFinished);
  EXPECT_THAT(Plan(), ElementsAre("finalizer")) << "nothing of it is in use any more";
  situation_.workloads[0].meta.finalizers.clear();
  EXPECT_THAT(Plan(), IsEmpty());
}

TEST_F(JobPlanTest, AnEditOfAWaitingJobUpdatesItsWorkload) {
  AddWorkload().spec.active = false;
  job_.parallelism = 1;
  job_.pod_template.spec.containers[0].requests["nvidia.com/gpu"] = 4;
  EXPECT_THAT(Plan(), ElementsAre("update", "event UpdatedWorkload"));
  EXPECT_FALSE(Get<UpdateWorkloadSpec>(0).spec.active);
}

TEST_F(JobPlanTest, ChangedNodeSelectorOfAWaitingJobUpdatesItsWorkload) {
  AddWorkload();
  job_.pod_template.spec.node_selector = {{"pool", "a100"}};
  EXPECT_THAT(Plan(), ElementsAre("update", "event UpdatedWorkload"));
}

TEST_F(JobPlanTest, ChangedNodeSelectorOfAReservedJobDeletesItsWorkload) {
  testing::Reserve(AddWorkload());
  job_.pod_template.spec.node_selector = {{"pool", "a100"}};
  EXPECT_THAT(Plan(), ElementsAre("delete", "event DeletedWorkload"));
}

TEST_F(JobPlanTest, StopUnderWayEmitsNoSecondEvent) {
  AddWorkload();
  job_.suspend = true;
  job_.meta.annotations[api::kStoppingAnnotation] = "true";
  EXPECT_THAT(Plan(), ElementsAre("stop+restore"));
}

TEST_F(JobPlanTest, EditOfAnAdmittedJobStopsItAndDeletesItsWorkload) {
  testing::Admit(AddWorkload());
  job_.suspend = false;
  job_.pod_template.spec.containers[0].requests["nvidia.com/gpu"] = 4;
  job_.active = 1;
  EXPECT_THAT(Plan(), ElementsAre("stop+restore", "event Stopped"));
  job_.suspend = true;
  EXPECT_THAT(Plan(), IsEmpty()) << "its pods have the quota";
  job_.active = 0;
  EXPECT_THAT(Plan(), ElementsAre("delete", "event DeletedWorkload"));
}

TEST_F(JobPlanTest, DuplicatesAreDeleted) {
  AddWorkload();
  AddWorkload().meta.name = "job-train-other";
  EXPECT_THAT(Plan(), ElementsAre("delete", "event DeletedWorkload"));
  EXPECT_EQ(Get<DeleteWorkload>(0).key.name, "job-train-other");
}

// Simulation, released-while-running, seed 3634: the Workload was released while the pods ran.
TEST_F(JobPlanTest, DeletedWorkloadStopsItsJobAndKeepsItsFinalizerUntilPodsEnd) {
  api::Workload& workload = AddWorkload();
  testing::Admit(workload);
  workload.meta.deletion_timestamp = At(0);
  job_.suspend = false;
  job_.active = 1;
  EXPECT_THAT(Plan(), ElementsAre("stop+restore", "event Stopped"));
  job_.suspend = true;
  EXPECT_THAT(Plan(), ElementsAre());
  job_.active = 0;
  EXPECT_THAT(Plan(), ElementsAre("finalizer"));
}

TEST_F(JobPlanTest, WaitingWorkloadFollowsTheJobsQueueAndPriority) {
  AddWorkload();
  api::PriorityClass high;
  high.meta.name = "high";
  high.value = 10;
  const PriorityClassesByName classes{{"high", high}};
  situation_.workload_priority_classes = &classes;
  job_.meta.labels[api::kQueueLabel] = "other";
  job_.meta.labels[api::kPriorityClassLabel] = "high";
  EXPECT_THAT(Plan(), ElementsAre("queue other", "priority", "event UpdatedWorkload"));
  EXPECT_EQ(Get<SetPriority>(1).priority.value, 10);
}

TEST_F(JobPlanTest, WaitingWorkloadFollowsTheJobsDeadline) {
  api::Workload& workload = AddWorkload();
  job_.meta.annotations["berth.dev/deadline"] = "2026-12-01T00:00:00Z";
  EXPECT_THAT(Plan(),
              ElementsAre("berth.dev/deadline 2026-12-01T00:00:00Z", "event UpdatedWorkload"));
  workload.meta.annotations["berth.dev/deadline"] = "2026-12-01T00:00:00Z";
  EXPECT_THAT(Plan(), IsEmpty());
  job_.meta.annotations["berth.dev/deadline"] = "2026-12-02T00:00:00Z";
  EXPECT_THAT(Plan(),
              ElementsAre("berth.dev/deadline 2026-12-02T00:00:00Z", "event UpdatedWorkload"));
  job_.meta.annotations.clear();
  EXPECT_THAT(Plan(), IsEmpty()) << "a deadline of the Workload itself stays";
  for (const char* text : {"", "tomorrow"}) {
    job_.meta.annotations["berth.dev/deadline"] = text;
    EXPECT_THAT(Plan(), IsEmpty()) << text;
  }
}

TEST_F(JobPlanTest, WorkloadOfARunningJobFollowsAChangedPriorityClass) {
  api::Workload& workload = AddWorkload();
  testing::Admit(workload);
  job_.suspend = false;
  api::PriorityClass high;
  high.meta.name = "high";
  high.value = 10;
  const PriorityClassesByName classes{{"high", high}};
  situation_.workload_priority_classes = &classes;
  job_.meta.labels[api::kPriorityClassLabel] = "high";
  EXPECT_THAT(Plan(), IsEmpty()) << "the API refuses a class where there was none";
  situation_.workloads[0].spec.priority_class_ref =
      api::PriorityClassRef{"kueue.x-k8s.io", "WorkloadPriorityClass", "low"};
  EXPECT_THAT(Plan(), ElementsAre("priority", "event UpdatedWorkload"));
  EXPECT_EQ(Get<SetPriority>(0).priority.value, 10);
  job_.meta.labels[api::kPriorityClassLabel] = "gone";
  EXPECT_THAT(Plan(), ElementsAre("event WorkloadPriorityClassNotFound"));
  EXPECT_TRUE(plan_.retry.has_value());
}

TEST_F(JobPlanTest, ReclaimablePodsAndReadinessAreReported) {
  job_ = GpuJob(3, 4);
  api::Workload& workload = AddWorkload();
  situation_.pods_ready_rule = PodsReadyRule::kReport;
  testing::Admit(workload);
  job_.suspend = false;
  job_.succeeded = 3;
  EXPECT_THAT(Plan(), ElementsAre("reclaimable", "PodsReady=Started"));
  situation_.report_reclaimable_pods = false;
  EXPECT_THAT(Plan(), ElementsAre("PodsReady=Started")) << "the gate ReclaimablePods is off";
  situation_.report_reclaimable_pods = true;
  situation_.workloads[0].status.reclaimable_pods = {{"main", 2}};
  SetTrue(situation_.workloads[0], api::kPodsReady, "Started");
  EXPECT_THAT(Plan(), IsEmpty());
  job_.succeeded = 0;
  situation_.workloads[0].status.reclaimable_pods.clear();
  EXPECT_THAT(Plan(), ElementsAre("PodsReady=WaitForRecovery"));
  SetTrue(situation_.workloads[0], api::kEvicted, "Preempted");
  job_.active = 1;
  EXPECT_THAT(Plan(), ElementsAre("PodsReady=WaitForStart", "stop+restore", "event Stopped"))
      << "its own stop is no loss of pods";
}

TEST_F(JobPlanTest, MessagesOfAdmissionChecksAreEmittedOnTheJob) {
  api::Workload& workload = AddWorkload();
  testing::Reserve(workload);
  workload.status.admission_checks = {{.name = "dws-prov", .message = "Waiting for resources."},
                                      {.name = "quiet"}};
  EXPECT_THAT(Plan(), ElementsAre("event UpdatedAdmissionCheck"));
  EXPECT_EQ(Get<EmitEvent>(0).message, "dws-prov: Waiting for resources.");
}

TEST_F(JobPlanTest, AChildFollowsItsAncestor) {
  job_.suspend = false;
  situation_.ancestor = ManagedAncestor{.admitted = false};
  EXPECT_THAT(Plan(), ElementsAre("stop", "event Suspended"));
  situation_.ancestor->admitted = true;
  EXPECT_THAT(Plan(), IsEmpty());
}

TEST_F(JobPlanTest, AJobWhoseOwnersAreTooManyIsLeftAlone) {
  job_.suspend = false;
  situation_.nested_too_deep = true;
  EXPECT_THAT(Plan(), ElementsAre("event JobNestingTooDeep"));
  EXPECT_EQ(Get<EmitEvent>(0).message,
            "Terminated search for Kueue-managed Job because ancestor depth exceeded limit of 10");
}

TEST_F(JobPlanTest, PrebuiltWorkloadIsAdoptedAndMustMatchTheJob) {
  job_.meta.labels[api::kPrebuiltWorkloadLabel] = "ready-made";
  api::Workload& workload = AddWorkload();
  workload.meta.name = "ready-made";
  workload.meta.owner_references.clear();
  EXPECT_THAT(Plan(), ElementsAre("adopt"));
  situation_.workloads[0].meta.owner_references = {Get<AdoptWorkload>(0).owner};
  EXPECT_THAT(Plan(), IsEmpty());
  situation_.workloads[0].spec.pod_sets[0].count = 9;
  EXPECT_THAT(Plan(), ElementsAre("Finished=OutOfSync"));
  SetTrue(situation_.workloads[0], api::kFinished, api::kOutOfSync);
  EXPECT_THAT(Plan(), IsEmpty());
  job_.suspend = false;
  EXPECT_THAT(Plan(), ElementsAre("stop", "event Stopped")) << "it is nobody's admission";
  situation_.workloads.clear();
  EXPECT_THAT(Plan(), ElementsAre("stop", "event Stopped"));
  job_.conditions = {{.type = "Complete", .status = api::ConditionStatus::kTrue}};
  EXPECT_THAT(Plan(), IsEmpty()) << "a finished job has nothing to stop";
}

TEST_F(JobPlanTest, WorkloadOfAMissingJobIsFinishedAndLosesItsFinalizer) {
  api::Workload workload = WorkloadFor(job_);
  plan_ = PlanMissingJob({workload}, At(0));
  EXPECT_THAT(Names(), ElementsAre("Finished=OwnerNotFound", "finalizer"));
  workload.meta.deletion_timestamp = At(0);
  plan_ = PlanMissingJob({workload}, At(0));
  EXPECT_THAT(Names(), ElementsAre("finalizer"));
  workload.meta.deletion_timestamp.reset();
  SetTrue(workload, api::kFinished);
  plan_ = PlanMissingJob({workload}, At(0));
  EXPECT_THAT(Names(), ElementsAre("finalizer"));
}

// `kubectl delete --cascade=orphan`: the job waits for the garbage collector.
TEST_F(JobPlanTest, JobUnderDeletionFinishesItsWorkloadAfterItsPods) {
  testing::Admit(AddWorkload());
  job_.meta.deletion_timestamp = At(0);
  job_.suspend = false;
  job_.active = 1;
  EXPECT_THAT(Plan(), ElementsAre("stop+restore", "event Stopped"));
  job_.suspend = true;
  EXPECT_THAT(Plan(), IsEmpty());
  job_.active = 0;
  EXPECT_THAT(Plan(), ElementsAre("Finished=OwnerNotFound"));
  SetTrue(situation_.workloads[0], api::kFinished);
  EXPECT_THAT(Plan(), ElementsAre("finalizer"));
}

TEST_F(JobPlanTest, FinishedJobUnderDeletionReportsItsOutcome) {
  testing::Admit(AddWorkload());
  job_.meta.deletion_timestamp = At(0);
  job_.suspend = false;
  job_.conditions = {{.type = "Complete", .status = api::ConditionStatus::kTrue}};
  EXPECT_THAT(Plan(), ElementsAre("Finished=Succeeded", "event FinishedWorkload"));
}

}  // namespace
}  // namespace berth::integrations

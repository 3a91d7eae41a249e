// Goal: the steps of the reconcile order that only described kinds need: jobs on hold, and
// additions of a start that stand beside the pod sets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integrations/action_plan.h"
#include "tests/integrations/fixtures.h"

namespace berth::integrations {
namespace {

using testing::At;

class DescribedPlanTest : public ::testing::Test {
 protected:
  DescribedPlanTest() {
    situation_.pods_ready_rule = PodsReadyRule::kIgnore;
    situation_.flavors = &flavors_;
    situation_.job = ViewOf(testing::GpuJob());
    situation_.workloads = {testing::WorkloadFor(testing::GpuJob())};
  }
  template <typename Action>
  const Action* Find() {
    plan_ = PlanJob(situation_, At(60));
    for (const JobAction& action : plan_.actions) {
      if (const auto* found = std::get_if<Action>(&action)) return found;
    }
    return nullptr;
  }
  api::Workload& workload() { return situation_.workloads.front(); }

  FlavorsByName flavors_ = testing::SpotFlavor();
  JobSituation situation_;
  JobPlan plan_;
};

TEST_F(DescribedPlanTest, JobOnHoldReleasesItsQuota) {
  testing::Admit(workload());
  situation_.job.on_hold = true;
  const auto* release = Find<ReleaseQuota>();
  ASSERT_NE(release, nullptr);
  EXPECT_FALSE(release->status.admission.has_value());
  const auto* reserved = api::FindCondition(release->status.conditions, api::kQuotaReserved);
  EXPECT_EQ(reserved->reason, "OnHold");
  EXPECT_EQ(reserved->message, "Job is on hold");
  EXPECT_TRUE(api::IsFalse(release->status.conditions, api::kAdmitted));
  EXPECT_EQ(plan_.actions.size(), 1U);
}

TEST_F(DescribedPlanTest, AJobOnHoldWithoutQuotaIsLeftAlone) {
  situation_.job.on_hold = true;
  EXPECT_EQ(Find<ReleaseQuota>(), nullptr);
  EXPECT_TRUE(plan_.actions.empty());
  situation_.workloads.clear();
  EXPECT_EQ(Find<CreateWorkload>(), nullptr);
}

// A TrainJob has such additions; its patch can be cleared only when its pods are gone.
TEST_F(DescribedPlanTest, AdditionsAreRemovedWhenThePodsAreGone) {
  testing::Admit(workload());
  testing::SetTrue(workload(), api::kEvicted, "Preempted", "because");
  situation_.job.has_additions = true;
  situation_.job.active = true;
  EXPECT_EQ(Find<StopJob>(), nullptr);
  EXPECT_EQ(Find<ReleaseQuota>(), nullptr);
  situation_.job.active = false;
  EXPECT_NE(Find<StopJob>(), nullptr);
  EXPECT_NE(Find<ReleaseQuota>(), nullptr);
}

TEST_F(DescribedPlanTest, AdditionsWithoutAnAdmissionAreRemoved) {
  situation_.job.has_additions = true;
  EXPECT_NE(Find<StopJob>(), nullptr);
  situation_.job.has_additions = false;
  EXPECT_EQ(Find<StopJob>(), nullptr);
}

TEST_F(DescribedPlanTest, AnAdmittedJobWithAdditionsIsStarted) {
  testing::Admit(workload());
  situation_.job.has_additions = true;
  EXPECT_NE(Find<StartJob>(), nullptr);
  EXPECT_EQ(Find<StopJob>(), nullptr);
}

TEST_F(DescribedPlanTest, JobAfterItsHoldIsQueuedAgain) {
  api::SetCondition(workload().status.conditions, {.type = api::kQuotaReserved,
                                                   .status = api::ConditionStatus::kFalse,
                                                   .reason = api::kOnHold});
  const auto* release = Find<ReleaseQuota>();
  ASSERT_NE(release, nullptr);
  EXPECT_EQ(api::FindCondition(release->status.conditions, api::kQuotaReserved)->reason,
            api::kPendingEvaluation);
}

TEST_F(DescribedPlanTest, PodsOfAJobOnHoldKeepTheirQuota) {
  testing::Admit(workload());
  situation_.job.on_hold = true;
  situation_.job.active = true;
  EXPECT_EQ(Find<ReleaseQuota>(), nullptr);
}

// An edit that no Workload can follow would let the job run at any size.
TEST_F(DescribedPlanTest, ARunningJobThatIsEditedIntoAProblemIsStopped) {
  testing::Admit(workload());
  workload().meta.owner_references = {
      {.name = "job", .uid = situation_.job.meta.uid, .controller = true}};
  situation_.job.problem = "spec.groups[0].name: \"a.b\" is no DNS label";
  situation_.job.suspended = false;
  situation_.job.active = true;
  EXPECT_NE(Find<StopJob>(), nullptr);
  EXPECT_EQ(Find<DeleteWorkload>(), nullptr) << "its pods use the quota";
  situation_.job.suspended = true;
  situation_.job.active = false;
  EXPECT_NE(Find<DeleteWorkload>(), nullptr);
  EXPECT_EQ(Find<StartJob>(), nullptr);
}

TEST_F(DescribedPlanTest, RunningJobWithAMissingRuntimeIsNotStopped) {
  testing::Admit(workload());
  workload().meta.owner_references = {
      {.name = "job", .uid = situation_.job.meta.uid, .controller = true}};
  situation_.job.problem = "spec.runtimeRef: runtime 'x' not found";
  situation_.job.lacks_object = true;
  situation_.job.suspended = false;
  situation_.job.active = true;
  situation_.pods_ready_rule = PodsReadyRule::kReport;
  EXPECT_EQ(Find<StopJob>(), nullptr);
  EXPECT_EQ(Find<SetWorkloadCondition>(), nullptr) << "whether its pods are ready is not known";
}

// A stop would start it anew as soon as the expression can be evaluated: for ever.
TEST_F(DescribedPlanTest, RunningJobWithAnUnreadableStateIsNotStopped) {
  testing::Admit(workload());
  workload().meta.owner_references = {
      {.name = "job", .uid = situation_.job.meta.uid, .controller = true}};
  situation_.job.problem = "ready: no such key: trials";
  situation_.job.state_unknown = true;
  situation_.job.suspended = false;
  situation_.pods_ready_rule = PodsReadyRule::kReport;
  EXPECT_EQ(Find<StopJob>(), nullptr);
  EXPECT_EQ(Find<DeleteWorkload>(), nullptr);
  EXPECT_EQ(Find<SetWorkloadCondition>(), nullptr);
  EXPECT_NE(Find<EmitEvent>(), nullptr);
  // Held, it waits without quota.
  situation_.job.suspended = true;
  EXPECT_EQ(Find<StartJob>(), nullptr);
  EXPECT_NE(Find<DeleteWorkload>(), nullptr);
}

TEST_F(DescribedPlanTest, JobWithAProblemDoesNotDeleteAForeignWorkload) {
  testing::Admit(workload());
  workload().meta.owner_references = {{.name = "other", .uid = "other", .controller = true}};
  situation_.job.problem = "too many pod sets";
  situation_.job.suspended = false;
  EXPECT_NE(Find<StopJob>(), nullptr);
  EXPECT_EQ(Find<DeleteWorkload>(), nullptr);
  situation_.job.suspended = true;
  EXPECT_EQ(Find<StartJob>(), nullptr);
  EXPECT_EQ(Find<DeleteWorkload>(), nullptr);
}

// The job is a TrainJob: many jobs share a runtime, and the trainer leaves those that run as they
// are.
TEST_F(DescribedPlanTest, AnEditedRuntimeStopsNoRunningJob) {
  testing::Admit(workload());
  workload().meta.owner_references = {
      {.name = "job", .uid = situation_.job.meta.uid, .controller = true}};
  situation_.job.suspended = false;
  situation_.job.active = true;
  situation_.job.pod_sets[0].count += 1;
  EXPECT_NE(Find<StopJob>(), nullptr);
  situation_.job.reads_objects = true;
  EXPECT_EQ(Find<StopJob>(), nullptr);
  situation_.job.suspended = true;
  situation_.job.active = false;
  EXPECT_EQ(Find<StartJob>(), nullptr) << "at rest it is queued with what it asks for";
}

}  // namespace
}  // namespace berth::integrations

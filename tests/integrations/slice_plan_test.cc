// Goal: the Workloads of an elastic job follow its size, and the job runs as long as one of them
// holds quota. Method: whole plans (PlanJob) for a Job in several sizes.
#include "integrations/slice_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integrations/fixtures.h"

namespace berth::integrations {
namespace {

using testing::At;
using ::testing::ElementsAre;
using testing::GpuJob;
using ::testing::IsEmpty;

class SlicePlanTest : public ::testing::Test {
 protected:
  SlicePlanTest() {
    job_.meta.annotations[api::kElasticJobAnnotation] = "true";
    job_.meta.generation = 1;
    situation_.pods_ready_rule = PodsReadyRule::kIgnore;
  }

  void Scale(std::int32_t parallelism) {
    job_.parallelism = parallelism;
    ++job_.meta.generation;
  }
  // The Workload that the plan creates, as stored.
  api::Workload& AddCreated() {
    Plan();
    for (const JobAction& action : plan_.actions) {
      const auto* create = std::get_if<CreateWorkload>(&action);
      if (create == nullptr) continue;
      api::Workload made = create->workload;
      made.meta.uid = made.meta.name;
      made.meta.creation_timestamp = At(static_cast<int>(situation_.workloads.size()));
      situation_.workloads.push_back(made);
    }
    return situation_.workloads.back();
  }
  std::vector<std::string> Plan(int second = 100) {
    situation_.job = ViewOf(job_);
    situation_.flavors = &flavors_;
    plan_ = PlanJob(situation_, At(second));
    std::vector<std::string> told;
    for (const JobAction& action : plan_.actions) {
      if (std::holds_alternative<CreateWorkload>(action)) told.emplace_back("create");
      if (std::holds_alternative<DeleteWorkload>(action)) told.emplace_back("delete");
      if (std::holds_alternative<StartJob>(action)) told.emplace_back("start");
      if (std::holds_alternative<StopJob>(action)) told.emplace_back("stop");
      if (std::holds_alternative<ReleaseQuota>(action)) told.emplace_back("release");
      if (std::holds_alternative<SetReclaimablePods>(action)) told.emplace_back("reclaimable");
      if (std::holds_alternative<RemoveWorkloadFinalizer>(action)) told.emplace_back("finalizer");
      if (const auto* set = std::get_if<SetWorkloadCondition>(&action)) {
        told.push_back(set->key.name + " " + set->condition.reason);
      }
      if (const auto* set = std::get_if<SetPriority>(&action)) {
        told.push_back("priority " + set->key.name);
      }
      if (const auto* update = std::get_if<UpdateWorkloadSpec>(&action)) {
        told.push_back("size " + std::to_string(update->spec.pod_sets[0].count));
      }
    }
    return told;
  }
  // The job runs with three pods.
  api::Workload& RunWithThree() {
    Scale(3);
    api::Workload& first = AddCreated();
    testing::Admit(first);
    job_.suspend = false;
    job_.active = 3;
    return first;
  }

  api::Job job_ = GpuJob(3, 100);
  FlavorsByName flavors_ = testing::SpotFlavor();
  JobSituation situation_;
  JobPlan plan_;
};

// A Job that was created while no webhook reviewed it lacks the gate.
TEST_F(SlicePlanTest, TheStartGatesThePods) {
  for (const std::vector<std::string>& given :
       {std::vector<std::string>{}, {api::kElasticJobGate}}) {
    situation_.workloads.clear();
    job_.pod_template.spec.scheduling_gates = given;
    testing::Admit(AddCreated());
    ASSERT_THAT(Plan(), ElementsAre("start"));
    for (const JobAction& action : plan_.actions) {
      const auto* start = std::get_if<StartJob>(&action);
      if (start == nullptr) continue;
      EXPECT_THAT(start->pod_sets.front().scheduling_gates, ElementsAre(api::kElasticJobGate));
    }
  }
}

TEST_F(SlicePlanTest, FirstSliceNamesItselfAsTheChain) {
  EXPECT_THAT(Plan(), ElementsAre("create"));
  const api::Workload made = std::get<CreateWorkload>(plan_.actions.at(0)).workload;
  EXPECT_EQ(made.meta.annotations.at(api::kElasticJobAnnotation), "true");
  EXPECT_EQ(made.meta.annotations.at(api::kSliceNameAnnotation), made.meta.name);
  job_.meta.generation = 2;
  Plan();
  EXPECT_NE(std::get<CreateWorkload>(plan_.actions.at(0)).workload.meta.name, made.meta.name);
}

TEST_F(SlicePlanTest, WaitingSliceIsResizedToTheJob) {
  AddCreated();
  Scale(5);
  EXPECT_THAT(Plan(), ElementsAre("size 5"));
  Scale(2);
  EXPECT_THAT(Plan(), ElementsAre("size 2"));
}

TEST_F(SlicePlanTest, AWaitingSliceFollowsAnEditedTemplate) {
  AddCreated();
  job_.pod_template.spec.containers[0].requests["cpu"] = 200;
  EXPECT_THAT(Plan(), ElementsAre("size 3"));
}

TEST_F(SlicePlanTest, StartAnnotatesPodsWithTheChain) {
  testing::Admit(AddCreated());
  EXPECT_THAT(Plan(), ElementsAre("start"));
  EXPECT_EQ(std::get<StartJob>(plan_.actions.at(0))
                .pod_sets.front()
                .annotations.at(api::kSliceNameAnnotation),
            situation_.workloads[0].meta.name);
}

TEST_F(SlicePlanTest, ARunningJobThatGrowsGetsAFurtherSliceAndRunsOn) {
  const std::string first = RunWithThree().meta.name;
  job_.pod_template.spec.node_selector["capacity"] = "spot";  // what the start has added
  EXPECT_THAT(Plan(), IsEmpty());
  Scale(5);
  EXPECT_THAT(Plan(), ElementsAre("create"));
  const api::Workload next = AddCreated();
  EXPECT_EQ(next.meta.annotations.at(api::kSliceReplacementForAnnotation), "default/" + first);
  EXPECT_EQ(next.meta.annotations.at(api::kSliceNameAnnotation), first);
  EXPECT_EQ(next.spec.pod_sets[0].count, 5);
  EXPECT_EQ(next.spec.pod_sets[0].pod_template.spec.node_selector.count("capacity"), 0U);
  EXPECT_THAT(Plan(), IsEmpty());  // it waits, and the job runs
  Scale(6);
  EXPECT_THAT(Plan(), ElementsAre("size 6"));
  Scale(2);  // below the size that runs
  EXPECT_THAT(Plan(), ElementsAre("size 2"));
}

TEST_F(SlicePlanTest, SmallerWaitingSliceLowersReclaimablePodsFirst) {
  RunWithThree();
  job_.completions = 8;
  job_.succeeded = 5;  // three remain
  Scale(5);
  AddCreated().status.reclaimable_pods = {{"main", 2}};
  Scale(1);
  EXPECT_THAT(Plan(), ElementsAre("reclaimable", "size 1"));
  EXPECT_THAT(std::get<SetReclaimablePods>(plan_.actions.at(0)).pods, IsEmpty());
}

// The review refuses more reclaimable pods than the slice has.
TEST_F(SlicePlanTest, LargerWaitingSliceIsResizedBeforeItsReclaimablePods) {
  RunWithThree();
  job_.completions = 20;
  job_.succeeded = 19;  // one remains
  Scale(5);
  AddCreated().status.reclaimable_pods = {{"main", 4}};
  Scale(7);
  EXPECT_THAT(Plan(), ElementsAre("size 7"));
}

// Simulation, core-differs, seed 13001544.
TEST_F(SlicePlanTest, SmallerPartiallyAdmittedSliceLowersReclaimablePodsFirst) {
  api::Workload& slice = RunWithThree();
  slice.status.reclaimable_pods = {{"main", 2}};
  slice.status.admission->pod_set_assignments[0].count = 1;
  job_.completions = 8;
  job_.succeeded = 7;  // one remains
  Scale(1);
  EXPECT_THAT(Plan(), ElementsAre("reclaimable", "size 1"));
  EXPECT_THAT(std::get<SetReclaimablePods>(plan_.actions.at(0)).pods, IsEmpty());
}

TEST_F(SlicePlanTest, AScaleDownLowersTheCountInPlace) {
  RunWithThree();
  Scale(2);
  EXPECT_THAT(Plan(), ElementsAre("size 2"));
}

TEST_F(SlicePlanTest, ReplacedSliceIsFinishedAfterAWaitForTheScheduler) {
  const std::string first = RunWithThree().meta.name;
  Scale(5);
  testing::Admit(AddCreated());
  EXPECT_THAT(Plan(2), IsEmpty());
  EXPECT_EQ(plan_.look_again, Duration(std::chrono::seconds(3)));
  EXPECT_THAT(Plan(6), ElementsAre(first + " WorkloadSliceReplaced"));
  Scale(7);
  EXPECT_THAT(Plan(2), IsEmpty());  // one slice after the other
  testing::SetTrue(situation_.workloads[0], api::kFinished, api::kWorkloadSliceReplaced);
  EXPECT_THAT(Plan(), ElementsAre("finalizer", "create"));
}

TEST_F(SlicePlanTest, EvictedSliceStopsTheJobBeforeTheNextSliceReplacesIt) {
  const std::string first = RunWithThree().meta.name;
  Scale(5);
  AddCreated();
  testing::SetTrue(situation_.workloads[0], api::kEvicted, "Preempted");
  EXPECT_THAT(Plan(), ElementsAre("stop"));
  job_.suspend = true;
  job_.active = 0;
  EXPECT_THAT(Plan(), ElementsAre("release"));
  situation_.workloads[0].status.conditions[0].status = api::ConditionStatus::kFalse;
  ASSERT_EQ(situation_.workloads[0].status.conditions[0].type, api::kQuotaReserved);
  EXPECT_THAT(Plan(), ElementsAre(first + " WorkloadSliceReplaced"));
}

// The owner suspends the job, which the first slice started; the second one has quota and waits for
// its checks.
TEST_F(SlicePlanTest, AnEvictedSliceThatWasNotAdmittedRestoresTheTemplateOfTheStart) {
  RunWithThree();
  job_.pod_template.labels[api::kPodSetLabel] = "main";
  Scale(5);
  api::Workload& second = AddCreated();
  testing::SetTrue(situation_.workloads[0], api::kFinished, api::kWorkloadSliceReplaced);
  testing::SetTrue(second, api::kQuotaReserved, "QuotaReserved");
  testing::SetTrue(second, api::kEvicted, "AdmissionCheck");
  second.meta.finalizers.clear();
  situation_.workloads[0].meta.finalizers.clear();
  job_.suspend = true;
  job_.active = 0;
  EXPECT_THAT(Plan(), ElementsAre("stop", "release"));
  job_.pod_template.labels.erase(api::kPodSetLabel);
  EXPECT_THAT(Plan(), ElementsAre("release"));
}

TEST_F(SlicePlanTest, TheOnlySliceIsAdmittedAgainAfterAnEviction) {
  api::Workload& only = RunWithThree();
  testing::SetTrue(only, api::kEvicted, "Preempted");
  EXPECT_THAT(Plan(), ElementsAre("stop"));
  job_.suspend = true;
  job_.active = 0;
  EXPECT_THAT(Plan(), ElementsAre("release"));
  only.status = std::get<ReleaseQuota>(plan_.actions.at(0)).status;
  EXPECT_THAT(Plan(), IsEmpty());
  testing::Admit(only);
  only.status.conditions.erase(
      std::remove_if(only.status.conditions.begin(), only.status.conditions.end(),
                     [](const auto& each) { return each.type == api::kEvicted; }),
      only.status.conditions.end());
  EXPECT_THAT(Plan(), ElementsAre("start"));
}

TEST_F(SlicePlanTest, AJobThatRunsWithoutQuotaIsStopped) {
  AddCreated();
  job_.suspend = false;
  job_.active = 3;
  EXPECT_THAT(Plan(), ElementsAre("stop"));
}

TEST_F(SlicePlanTest, ReclaimablePodsDoNotExceedTheSlicesCount) {
  api::Workload& slice = RunWithThree();
  job_.completions = 4;
  job_.succeeded = 4;
  slice.spec.pod_sets[0].count = 2;
  job_.parallelism = 2;
  Plan();
  EXPECT_EQ(std::get<SetReclaimablePods>(plan_.actions.at(0)).pods[0].count, 2);
}

TEST(Reclaimable, PodsStayWhileQuotaIsHeld) {
  const api::Job job = GpuJob(2, 4);
  api::Workload workload = testing::WorkloadFor(job);
  testing::Admit(workload);
  workload.status.reclaimable_pods = {{"main", 1}};
  EXPECT_EQ(ReclaimableOf(ViewOf(job), workload), workload.status.reclaimable_pods);
  workload.status.reclaimable_pods[0].count = 3;
  EXPECT_EQ(ReclaimableOf(ViewOf(job), workload)[0].count, 2) << "the Workload has no more";
  workload.status.conditions.clear();
  EXPECT_TRUE(ReclaimableOf(ViewOf(job), workload).empty());
}

TEST_F(SlicePlanTest, AClassEditReachesBothSlices) {
  const std::string first = RunWithThree().meta.name;
  Scale(5);
  const std::string next = AddCreated().meta.name;
  api::PriorityClass high;
  high.meta.name = "high";
  high.value = 9;
  const PriorityClassesByName classes = {{"high", high}};
  situation_.workload_priority_classes = &classes;
  for (api::Workload& each : situation_.workloads) {
    each.spec.priority_class_ref = {"kueue.x-k8s.io", "WorkloadPriorityClass", "low"};
  }
  job_.meta.labels[api::kPriorityClassLabel] = "high";
  EXPECT_THAT(Plan(), ::testing::UnorderedElementsAre("priority " + first, "priority " + next));
}

TEST_F(SlicePlanTest, AFinishedJobEndsEachSlice) {
  const std::string first = RunWithThree().meta.name;
  Scale(5);
  const std::string next = AddCreated().meta.name;
  job_.conditions = {{.type = "Complete", .status = api::ConditionStatus::kTrue}};
  EXPECT_THAT(Plan(), ElementsAre(next + " Succeeded"));
  testing::SetTrue(situation_.workloads[1], api::kFinished, api::kSucceeded);
  situation_.workloads[1].meta.finalizers.clear();
  EXPECT_THAT(Plan(), ElementsAre(first + " Succeeded"));
}

TEST_F(SlicePlanTest, ReplacedSlicesBeyondTheBoundAreDeleted) {
  RunWithThree();
  const api::Workload head = situation_.workloads[0];
  for (int i = 0; i < 12; ++i) {
    api::Workload old = head;
    old.meta.name = "old-" + std::to_string(i);
    old.meta.finalizers.clear();
    testing::SetTrue(old, api::kFinished, api::kWorkloadSliceReplaced);
    situation_.workloads.push_back(old);
  }
  EXPECT_THAT(Plan(), ElementsAre("delete", "delete"));
}

TEST_F(SlicePlanTest, OutOfSyncSlicesBeyondTheBoundAreDeleted) {
  RunWithThree();
  for (int i = 0; i < 12; ++i) {
    api::Workload ended = situation_.workloads[0];
    ended.meta.name = "ended-" + std::to_string(i);
    ended.meta.uid = ended.meta.name;
    ended.meta.finalizers.clear();
    testing::SetTrue(ended, api::kFinished, api::kOutOfSync);
    situation_.workloads.push_back(ended);
  }
  EXPECT_THAT(Plan(), ElementsAre("delete", "delete"));
}

// A user deactivates the slice that waits: the job stays in its present size.
TEST_F(SlicePlanTest, SizeOfAnEndedSliceIsNotRequestedAgain) {
  RunWithThree();
  Scale(5);
  api::Workload& next = AddCreated();
  next.spec.active = false;
  testing::SetTrue(next, api::kEvicted);
  EXPECT_THAT(Plan(), ElementsAre(next.meta.name + " OutOfSync"));
  testing::SetTrue(next, api::kFinished, api::kOutOfSync);
  next.meta.finalizers.clear();
  EXPECT_THAT(Plan(), IsEmpty());
  EXPECT_THAT(plan_.actions, IsEmpty()) << "an event tells of a further slice";
  Scale(6);
  EXPECT_THAT(Plan(), ElementsAre("create"));
}

TEST_F(SlicePlanTest, WorkloadOfAnEarlierJobOfTheSameNameIsDeleted) {
  AddCreated().meta.owner_references[0].uid = "earlier";
  EXPECT_THAT(Plan(), ElementsAre("delete"));
}

}  // namespace
}  // namespace berth::integrations

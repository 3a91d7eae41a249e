// Goal: the changes of an admitted workload's pods, and the detection of conflicts.
#include "integrations/pod_set_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/labels.h"
#include "tests/integrations/fixtures.h"

namespace berth::integrations {
namespace {

using testing::Admit;
using ::testing::ElementsAre;
using testing::GpuJob;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::SpotFlavor;
using testing::WorkloadFor;

api::Workload AdmittedWorkload() {
  api::Workload workload = WorkloadFor(GpuJob());
  workload.status.admission_checks = {
      {.name = "prov",
       .state = api::CheckState::kReady,
       .pod_set_updates = {{.name = "main",
                            .annotations = {{"consume", "pr-1"}},
                            .tolerations = {{.key = "queued", .op = "Exists"}}}}}};
  Admit(workload);
  return workload;
}

TEST(PodSetChangeTest, CombinesFlavorChecksAndQueueLabels) {
  const auto changes = StartChanges(AdmittedWorkload(), SpotFlavor());
  ASSERT_TRUE(changes) << changes.error().message;
  ASSERT_THAT(*changes, SizeIs(1));
  const PodSetChange& change = changes->front();
  EXPECT_EQ(change.node_selector, (api::StringMap{{"capacity", "spot"}, {"pool", "t4"}}));
  EXPECT_EQ(change.annotations,
            (api::StringMap{{"consume", "pr-1"},
                            {api::kWorkloadAnnotation, AdmittedWorkload().meta.name}}));
  EXPECT_EQ(change.labels, (api::StringMap{{api::kClusterQueueNameLabel, "cq"},
                                           {api::kLocalQueueNameLabel, "lq"},
                                           {api::kPodSetLabel, "main"}}));
  EXPECT_THAT(change.tolerations, SizeIs(3));
  EXPECT_THAT(change.scheduling_gates, ElementsAre());
}

// The templates of the Workload may be older than the pods.
TEST(PodSetChangeTest, ExistingPodsGetOnlyTheAdditions) {
  api::Workload workload = AdmittedWorkload();
  api::PodTemplateFields& pods = workload.spec.pod_sets[0].pod_template;
  pods.labels = {{"team", "a"}};
  pods.annotations = {{"note", "old"}};
  pods.spec.node_selector = {{"zone", "z"}};
  const auto changes =
      StartChanges(workload, SpotFlavor(), WorkloadNameRule::kAnnotate, StartTarget::kPods);
  ASSERT_TRUE(changes) << changes.error().message;
  const PodSetChange& change = changes->front();
  EXPECT_EQ(change.count, 1);
  EXPECT_EQ(change.node_selector, (api::StringMap{{"capacity", "spot"}}));
  EXPECT_EQ(change.annotations,
            (api::StringMap{{"consume", "pr-1"}, {api::kWorkloadAnnotation, workload.meta.name}}));
  EXPECT_EQ(change.labels, (api::StringMap{{api::kClusterQueueNameLabel, "cq"},
                                           {api::kLocalQueueNameLabel, "lq"},
                                           {api::kPodSetLabel, "main"}}));
}

// Pods of a later slice wait for the request of that slice; they get it with the end of their gate.
TEST(PodSetChangeTest, TheTemplateOfGatedSlicesNamesNoProvisioningRequest) {
  api::Workload workload = AdmittedWorkload();
  workload.meta.annotations[api::kElasticJobAnnotation] = "true";
  workload.status.admission_checks[0].pod_set_updates[0].annotations = {
      {api::kConsumeProvisioningRequestAnnotation, "pr-1"},
      {api::kProvisioningClassAnnotation, "class"},
      {"other", "kept"}};
  const auto ungated = StartChanges(workload, SpotFlavor());
  ASSERT_TRUE(ungated) << ungated.error().message;
  EXPECT_EQ(ungated->front().annotations.count(api::kConsumeProvisioningRequestAnnotation), 1U);
  workload.spec.pod_sets[0].pod_template.spec.scheduling_gates = {api::kElasticJobGate};
  const auto gated = StartChanges(workload, SpotFlavor());
  ASSERT_TRUE(gated) << gated.error().message;
  EXPECT_EQ(gated->front().annotations,
            (api::StringMap{{"other", "kept"},
                            {api::kSliceNameAnnotation, workload.meta.name},
                            {api::kWorkloadAnnotation, workload.meta.name}}));
}

TEST(PodSetChangeTest, AssignmentOfAnotherNameIsMatchedByPosition) {
  api::Workload workload = AdmittedWorkload();
  workload.status.admission->pod_set_assignments[0].name = "driver";
  workload.status.admission_checks[0].pod_set_updates[0].name = "driver";
  const auto changes = StartChanges(workload, SpotFlavor());
  ASSERT_TRUE(changes) << changes.error().message;
  EXPECT_EQ(changes->front().node_selector, (api::StringMap{{"capacity", "spot"}, {"pool", "t4"}}));
  EXPECT_EQ(changes->front().labels.at(api::kPodSetLabel), "driver");
  EXPECT_EQ(changes->front().annotations.at("consume"), "pr-1");
  workload.status.admission->pod_set_assignments.clear();
  EXPECT_EQ(StartChanges(workload, SpotFlavor()).error().code, ErrorCode::kInvalid);
}

TEST(PodSetChangeTest, ATolerationIsAddedOnce) {
  api::Workload workload = AdmittedWorkload();
  workload.spec.pod_sets[0].pod_template.spec.tolerations.push_back(
      {.key = "spot", .op = "Exists"});
  EXPECT_THAT(StartChanges(workload, SpotFlavor())->front().tolerations, SizeIs(3));
}

TEST(PodSetChangeTest, ConflictWithTheTemplateIsPermanent) {
  api::Workload workload = AdmittedWorkload();
  workload.spec.pod_sets[0].pod_template.spec.node_selector["capacity"] = "reserved";
  const auto changes = StartChanges(workload, SpotFlavor());
  ASSERT_FALSE(changes);
  EXPECT_EQ(changes.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(changes.error().message,
              HasSubstr("conflict for key=capacity, value1=reserved, value2=spot"));
}

TEST(PodSetChangeTest, ConflictBetweenChecksNamesTheSecond) {
  api::Workload workload = AdmittedWorkload();
  workload.status.admission_checks.push_back(
      {.name = "other", .pod_set_updates = {{.name = "main", .annotations = {{"consume", "x"}}}}});
  const auto changes = StartChanges(workload, SpotFlavor());
  ASSERT_FALSE(changes);
  EXPECT_THAT(changes.error().message, HasSubstr("in admission check \"other\""));
}

TEST(PodSetChangeTest, MissingFlavorIsNotFound) {
  const auto changes = StartChanges(AdmittedWorkload(), {});
  ASSERT_FALSE(changes);
  EXPECT_EQ(changes.error().code, ErrorCode::kNotFound);
}

TEST(PodSetChangeTest, TopologyAssignmentGatesThePods) {
  api::Workload workload = AdmittedWorkload();
  workload.status.admission->pod_set_assignments[0].topology_assignment.emplace();
  const PodSetChange change = StartChanges(workload, SpotFlavor())->front();
  EXPECT_THAT(change.scheduling_gates, ElementsAre(api::kTopologyGate));
  EXPECT_TRUE(change.is_placed);
  EXPECT_EQ(change.annotations.at(api::kWorkloadAnnotation), workload.meta.name);
  EXPECT_EQ(change.annotations.at(api::kUnconstrainedTopologyAnnotation), "true");
  const auto marks = [&workload] {
    return StartChanges(workload, SpotFlavor())
        ->front()
        .annotations.count(api::kUnconstrainedTopologyAnnotation);
  };
  workload.spec.pod_sets[0].topology_request.emplace().pod_index_label = "index";
  EXPECT_EQ(marks(), 1U) << "the label of the ranks asks for nothing";
  workload.spec.pod_sets[0].topology_request->preferred = "rack";
  EXPECT_EQ(marks(), 0U);
}

// Simulation, never-finishes, seed 52: two requests are refused, and the job never started.
TEST(PodSetChangeTest, ATemplateWithARequestGetsNoSecondOne) {
  api::Workload workload = AdmittedWorkload();  // prebuilt, without the request of its template
  workload.status.admission->pod_set_assignments[0].topology_assignment.emplace();
  workload.spec.pod_sets[0].pod_template.annotations[api::kPreferredTopologyAnnotation] = "rack";
  const PodSetChange change = StartChanges(workload, SpotFlavor())->front();
  EXPECT_EQ(change.annotations.count(api::kUnconstrainedTopologyAnnotation), 0U);
}

// The name of the Workload replaces the one of an earlier start, as it does in Kueue.
TEST(PodSetChangeTest, TheTemplateNamesTheWorkload) {
  api::Workload workload = AdmittedWorkload();
  workload.spec.pod_sets[0].pod_template.annotations[api::kWorkloadAnnotation] = "earlier";
  const auto named = StartChanges(workload, SpotFlavor());
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_EQ(named->front().annotations.at(api::kWorkloadAnnotation), workload.meta.name);
  const auto gate_off = StartChanges(workload, SpotFlavor(), WorkloadNameRule::kLeave);
  ASSERT_TRUE(gate_off) << gate_off.error().message;
  EXPECT_EQ(gate_off->front().annotations.at(api::kWorkloadAnnotation), "earlier");
  EXPECT_EQ(OriginalPodSets(workload).front().annotations.at(api::kWorkloadAnnotation), "earlier");
}

TEST(PodSetChangeTest, QueueNameLongerThanALabelIsLeftOut) {
  api::Workload workload = AdmittedWorkload();
  workload.status.admission->cluster_queue = std::string(64, 'q');
  EXPECT_EQ(StartChanges(workload, SpotFlavor())->front().labels.count(api::kClusterQueueNameLabel),
            0U);
}

}  // namespace
}  // namespace berth::integrations

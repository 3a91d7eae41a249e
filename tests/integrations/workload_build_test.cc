// Goal: names, priority and content of Workloads, and when a Workload does not match its job.
#include "integrations/workload_build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integrations/workload_name.h"
#include "tests/integrations/fixtures.h"

namespace berth::integrations {
namespace {

using ::testing::ElementsAre;
using testing::GpuJob;
using testing::WorkloadFor;

TEST(WorkloadNameTest, KindNameAndHash) {
  // printf 'Job\nbatch\ntrain\nuid-1' | sha1sum
  EXPECT_EQ(WorkloadName({.kind = "Job", .group = "batch", .name = "train", .uid = "uid-1"}),
            "job-train-a6870");
}

TEST(WorkloadNameTest, LongNamesAreCutAndStayApart) {
  const std::string name_a = std::string(250, 'x') + "a";
  const std::string name_b = std::string(250, 'x') + "b";
  const std::string a = WorkloadName({.kind = "Job", .group = "batch", .name = name_a, .uid = "u"});
  const std::string b = WorkloadName({.kind = "Job", .group = "batch", .name = name_b, .uid = "u"});
  EXPECT_EQ(a.size(), 253U);
  EXPECT_NE(a, b);
  EXPECT_EQ(WorkloadName({.kind = "Job", .group = "batch", .name = name_a, .uid = "u"},
                         NameLength::kLabelValue)
                .size(),
            63U);
}

TEST(WorkloadNameTest, NameDependsOnUidAndVariant) {
  const OwnerIdentity owner{.kind = "Job", .group = "batch", .name = "train", .uid = "uid-1"};
  OwnerIdentity reborn = owner;
  reborn.uid = "uid-2";
  OwnerIdentity variant = owner;
  variant.variant = "2";
  EXPECT_NE(WorkloadName(owner), WorkloadName(reborn));
  EXPECT_NE(WorkloadName(owner), WorkloadName(variant));
}

// The CRD of Kueue's Workloads allows each name once.
TEST(WorkloadBuildTest, RepeatedEnvironmentVariableKeepsItsLastValue) {
  JobView job = ViewOf(GpuJob(1, 1));
  job.pod_sets[0].json = std::make_shared<const std::string>(R"({"spec":{
    "containers":[{"env":[{"name":"A","value":"1"},{"name":"B"},{"name":"A","value":"2"}],"name":"c"}],
    "initContainers":[{"env":[{"name":"B"},{"name":"B","value":"3"}],"name":"i"}]}})");
  const api::Workload workload = BuildWorkload(job, {std::nullopt, 0}, {});
  EXPECT_EQ(*api::TemplateOf(workload.spec, 0).json,
            R"({"spec":{"containers":[{"env":[{"name":"A","value":"2"},{"name":"B"}],"name":"c"}],)"
            R"("initContainers":[{"env":[{"name":"B","value":"3"}],"name":"i"}]}})");
}

TEST(WorkloadBuildTest, CopiesConfiguredLabelsAndKnownFields) {
  api::Job job = GpuJob(4, 8);
  job.meta.labels["team"] = "a";
  job.meta.labels["other"] = "b";
  job.meta.labels[api::kMaxExecTimeLabel] = "600";
  job.meta.annotations = {{"provreq.kueue.x-k8s.io/maxRunDurationSeconds", "600"},
                          {"note", "mine"},
                          {"billing", "b7"},
                          {api::kMinParallelismAnnotation, "2"}};
  const api::Workload workload = BuildWorkload(
      ViewOf(job), {std::nullopt, 7},
      {.label_keys_to_copy = {"team", "absent"}, .annotation_keys_to_copy = {"billing", "absent"}});
  EXPECT_EQ(workload.meta.labels, (api::StringMap{{"team", "a"}, {api::kJobUidLabel, "uid-1"}}));
  EXPECT_EQ(
      workload.meta.annotations,
      (api::StringMap{{"provreq.kueue.x-k8s.io/maxRunDurationSeconds", "600"}, {"billing", "b7"}}));
  EXPECT_THAT(workload.meta.finalizers, ElementsAre(api::kResourceInUseFinalizer));
  const api::OwnerReference* owner = api::ControllerOf(workload.meta);
  ASSERT_NE(owner, nullptr);
  EXPECT_EQ(owner->api_version, "batch/v1");
  EXPECT_EQ(owner->uid, "uid-1");
  EXPECT_EQ(workload.spec.queue_name, "lq");
  EXPECT_EQ(workload.spec.priority, 7);
  EXPECT_EQ(workload.spec.maximum_execution_time_seconds, 600);
  ASSERT_EQ(workload.spec.pod_sets.size(), 1U);
  EXPECT_EQ(workload.spec.pod_sets[0].count, 4);
  EXPECT_EQ(workload.spec.pod_sets[0].min_count, 2);
}

TEST(WorkloadBuildTest, EditedJobDiffersFromItsWorkload) {
  const api::Job job = GpuJob(2, 4);
  const api::Workload workload = WorkloadFor(job);
  EXPECT_TRUE(IsEquivalent(ViewOf(job), workload, {}));

  api::Job more = job;
  more.parallelism = 3;
  EXPECT_FALSE(IsEquivalent(ViewOf(more), workload, {}));
  api::Job bigger = job;
  bigger.pod_template.spec.containers[0].requests["nvidia.com/gpu"] = 2;
  EXPECT_FALSE(IsEquivalent(ViewOf(bigger), workload, {}));
  api::Job bounded = job;
  bounded.meta.labels[api::kMaxExecTimeLabel] = "60";
  EXPECT_FALSE(IsEquivalent(ViewOf(bounded), workload, {}));
  api::Job reborn = job;
  reborn.meta.uid = "uid-2";
  EXPECT_FALSE(IsEquivalent(ViewOf(reborn), workload, {}));
  api::Job moved = job;
  moved.pod_template.spec.node_selector = {{"pool", "a100"}};
  EXPECT_TRUE(IsEquivalent(ViewOf(moved), workload, {}));
  EXPECT_FALSE(PlacesAlike(ViewOf(moved), workload));
}

TEST(WorkloadBuildTest, StartedJobMayDifferByItsStartChanges) {
  api::Job job = GpuJob(5, 5);
  job.meta.annotations[api::kMinParallelismAnnotation] = "2";
  api::Workload workload = WorkloadFor(job);
  testing::Admit(workload);
  workload.status.admission->pod_set_assignments[0].count = 3;
  EXPECT_TRUE(IsEquivalent(ViewOf(job), workload, testing::SpotFlavor())) << "not started yet";
  job.suspend = false;
  EXPECT_FALSE(IsEquivalent(ViewOf(job), workload, testing::SpotFlavor())) << "runs too large";
  job.parallelism = 3;
  job.pod_template.spec.tolerations.push_back({.key = "spot", .op = "Exists"});
  EXPECT_TRUE(IsEquivalent(ViewOf(job), workload, testing::SpotFlavor()));
  EXPECT_TRUE(IsEquivalent(ViewOf(job), workload, {})) << "its flavor has gone meanwhile";
}

TEST(PriorityTest, LabelPrecedesPodClassAndDefault) {
  api::PriorityClass high;
  high.meta.name = "high";
  high.value = 100;
  api::PriorityClass low = high;
  low.meta.name = "low";
  low.value = 5;
  low.global_default = true;
  api::PriorityClass other_default = low;
  other_default.meta.name = "other";
  other_default.value = 9;
  const PriorityClassesByName pods{{"low", low}, {"other", other_default}};
  const PriorityClassesByName workloads{{"high", high}};

  api::Job job = GpuJob();
  EXPECT_EQ(PriorityOf(ViewOf(job), {}, {})->value, 0);
  EXPECT_FALSE(PriorityOf(ViewOf(job), {}, {})->ref.has_value());
  EXPECT_EQ(PriorityOf(ViewOf(job), workloads, pods)->value, 5) << "the lowest default";
  job.pod_template.spec.priority_class_name = "other";
  EXPECT_EQ(PriorityOf(ViewOf(job), workloads, pods)->value, 9);
  job.meta.labels[api::kPriorityClassLabel] = "high";
  EXPECT_EQ(PriorityOf(ViewOf(job), workloads, pods)->value, 100);
  EXPECT_EQ(PriorityOf(ViewOf(job), workloads, pods)->ref->group, "kueue.x-k8s.io");
  job.meta.labels[api::kPriorityClassLabel] = "gone";
  const auto missing = PriorityOf(ViewOf(job), workloads, pods);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "WorkloadPriorityClass \"gone\" not found");
}

}  // namespace
}  // namespace berth::integrations

// Goal: merge patches carry only the changed fields, and remove keys.
#include "integrations/controller/job_patches.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/integrations/fixtures.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

TEST(JobPatchTest, StartPatchHasOnlyNewFields) {
  const api::Job job = testing::GpuJob();
  PodSetChange change;
  change.node_selector = {{"capacity", "spot"}, {"pool", "t4"}};
  change.labels = {{"a", "b"}};
  change.tolerations = job.pod_template.spec.tolerations;
  const BatchJobWrite write{.suspend = false, .pod_template = change};
  EXPECT_EQ(JobPatch(job, write), Json::parse(R"({
    "spec": {"suspend": false, "template": {
      "metadata": {"labels": {"a": "b"}},
      "spec": {"nodeSelector": {"capacity": "spot"}}}}})"));
}

TEST(JobPatchTest, RestorePatchRemovesAddedKeys) {
  api::Job job = testing::GpuJob();
  job.pod_template.spec.node_selector = {{"capacity", "spot"}, {"pool", "t4"}};
  job.pod_template.annotations = {{"consume", "x"}};
  job.pod_template.spec.scheduling_gates = {"g"};
  PodSetChange original;
  original.node_selector = {{"pool", "t4"}};
  const BatchJobWrite write{.stopping = BatchJobWrite::Stopping::kRemove, .pod_template = original};
  EXPECT_EQ(JobPatch(job, write), Json::parse(R"({
    "metadata": {"annotations": {"kueue.x-k8s.io/stopping": null}},
    "spec": {"template": {
      "metadata": {"annotations": {"consume": null}},
      "spec": {"nodeSelector": {"capacity": null}, "schedulingGates": [], "tolerations": []}}}})"));
}

TEST(JobPatchTest, TheStartTimeIsClearedAlone) {
  EXPECT_EQ(JobPatch(testing::GpuJob(), {.clear_start_time = true}),
            Json::parse(R"({"status": {"startTime": null}})"));
}

TEST(WorkloadPatchTest, SpecPatchRemovesMissingFields) {
  api::Workload workload = testing::WorkloadFor(testing::GpuJob());
  workload.meta.resource_version = "3";
  api::WorkloadSpec spec = workload.spec;
  spec.priority_class_ref.reset();
  const Json patch = WorkloadSpecPatch(workload, spec);
  EXPECT_TRUE(patch["spec"]["priorityClassRef"].is_null());
  EXPECT_TRUE(patch["spec"].contains("priorityClassRef"));
  EXPECT_EQ(patch["metadata"]["resourceVersion"], "3");
  EXPECT_EQ(patch["spec"]["podSets"].size(), 1U);
}

TEST(WorkloadPatchTest, SpecPatchHasNoNullsOfTemplates) {
  api::Workload workload = testing::WorkloadFor(testing::GpuJob());
  workload.spec.templates = {api::TemplateText(std::make_shared<const std::string>(
      R"({"metadata":{"creationTimestamp":null},"spec":{"containers":[]}})"))};
  const Json patch = WorkloadSpecPatch(workload, workload.spec);
  EXPECT_EQ(patch["spec"]["podSets"][0]["template"].dump().find("null"), std::string::npos);
}

}  // namespace
}  // namespace berth::integrations

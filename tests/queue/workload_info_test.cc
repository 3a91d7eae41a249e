// Goal: a workload as the decisions read it: what counts, what is left out, which ones look the
// same. Method: rows over one object that is changed.
#include "queue/workload_info.h"

#include <gtest/gtest.h>

#include "api/condition.h"
#include "api/reasons.h"

namespace berth::queue {
namespace {

api::Workload Plain() {
  api::Workload workload;
  workload.meta.namespace_name = "default";
  workload.meta.name = workload.meta.uid = "w";
  workload.spec.priority = 1;
  api::PodSet& pod_set = workload.spec.pod_sets.emplace_back();
  pod_set.count = 3;
  pod_set.pod_template.spec.containers.emplace_back().requests = {{"cpu", 500}, {"gpu", 1}};
  return workload;
}

WorkloadInfo InfoOf(const api::Workload& workload, const InfoOptions& options, Names& names) {
  return BuildWorkloadInfo(std::make_shared<const api::Workload>(workload), options, names);
}

TEST(WorkloadInfoTest, ShapesTellWhatTheSchedulerCanTell) {
  struct Row {
    const char* name;
    std::function<void(api::Workload&)> edit;
    bool same;
  };
  const auto spec = [](api::Workload& w) -> api::PodSpec& {
    return w.spec.pod_sets[0].pod_template.spec;
  };
  const Row rows[] = {
      {"name and UID", [](api::Workload& w) { w.meta.name = w.meta.uid = "v"; }, true},
      {"labels", [](api::Workload& w) { w.meta.labels["x"] = "y"; }, true},
      {"age", [](api::Workload& w) { w.meta.creation_timestamp += std::chrono::seconds(1); }, true},
      {"image", [&](api::Workload& w) { spec(w).containers[0].image = "i"; }, true},
      {"priority", [](api::Workload& w) { w.spec.priority = 2; }, false},
      {"count", [](api::Workload& w) { w.spec.pod_sets[0].count = 4; }, false},
      {"reclaimable pods",
       [](api::Workload& w) {
         w.status.reclaimable_pods = {{"main", 1}};
       },
       false},
      {"minCount", [](api::Workload& w) { w.spec.pod_sets[0].min_count = 2; }, false},
      {"name of the pod set", [](api::Workload& w) { w.spec.pod_sets[0].name = "p"; }, false},
      {"requests", [&](api::Workload& w) { spec(w).containers[0].requests["gpu"] = 2; }, false},
      {"another resource", [&](api::Workload& w) { spec(w).containers[0].requests["x"] = 1; },
       false},
      {"selector", [&](api::Workload& w) { spec(w).node_selector["k"] = "v"; }, false},
      {"toleration", [&](api::Workload& w) { spec(w).tolerations.push_back({.key = "k"}); }, false},
      {"affinity", [&](api::Workload& w) { spec(w).required_node_affinity.emplace(); }, false},
      {"topology",
       [](api::Workload& w) { w.spec.pod_sets[0].topology_request.emplace().required = "rack"; },
       false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Names names;
    api::Workload other = Plain();
    row.edit(other);
    EXPECT_EQ(InfoOf(Plain(), {}, names).shape == InfoOf(other, {}, names).shape, row.same);
  }
}

TEST(WorkloadInfoTest, WithoutHashingShapesAreUnknown) {
  Names names;
  EXPECT_EQ(InfoOf(Plain(), {.equivalence_hashing = false}, names).shape, kUnknownShape);
}

TEST(WorkloadInfoTest, ReclaimablePodsDoNotCount) {
  struct Row {
    std::vector<api::ReclaimablePod> pods;
    std::int32_t count;
  };
  for (const Row& row : {Row{{}, 3}, Row{{{"main", 1}}, 2}, Row{{{"main", 3}}, 0},
                         Row{{{"main", 9}}, 0}, Row{{{"other", 1}}, 3}}) {
    api::Workload workload = Plain();
    workload.status.reclaimable_pods = row.pods;
    EXPECT_EQ(CountsAfterReclaim(workload), std::vector<std::int32_t>{row.count});
  }
}

TEST(WorkloadInfoTest, ExcludedAndTransformedResources) {
  using Strategy = ResourceTransformation::Strategy;
  const auto quantity = [](const char* text) { return *api::Quantity::Parse(text); };
  struct Row {
    const char* name;
    std::vector<std::string> excluded;
    std::vector<ResourceTransformation> transformations;
    api::ResourceAmounts requests;  // of Plain()'s cpu 500m, gpu 1
  };
  const Row rows[] = {
      {"as they are", {}, {}, {{"cpu", 500}, {"gpu", 1}}},
      {"a prefix is left out", {"gp"}, {}, {{"cpu", 500}}},
      {"one GPU is 5 credits and stays",
       {},
       {{"gpu", Strategy::kRetain, "", {{"credits", quantity("5")}}}},
       {{"cpu", 500}, {"credits", 5}, {"gpu", 1}}},
      {"one GPU is 5 credits instead",
       {},
       {{"gpu", Strategy::kReplace, "", {{"credits", quantity("5")}}}},
       {{"cpu", 500}, {"credits", 5}}},
      {"Kueue's applyResourceTransformations: half a CPU counts as a whole one",
       {},
       {{"cpu", Strategy::kReplace, "", {{"memory", quantity("3")}}}},
       {{"gpu", 1}, {"memory", 3}}},
      {"so it does as what another is multiplied by",
       {},
       {{"gpu", Strategy::kReplace, "cpu", {{"credits", quantity("5")}}}},
       {{"cpu", 500}, {"credits", 5}}},
      {"what is retained is multiplied too",
       {},
       {{"cpu", Strategy::kRetain, "cpu", {{"credits", quantity("5")}}}},
       {{"cpu", 500}, {"credits", 5}, {"gpu", 1}}},
      {"fractions add up before they are rounded",
       {},
       {{"cpu", Strategy::kReplace, "", {{"credits", quantity("500m")}}},
        {"gpu", Strategy::kReplace, "", {{"credits", quantity("1500u")}}}},
       {{"credits", 1}}},
      {"large factors do not run over",
       {},
       {{"gpu", Strategy::kReplace, "", {{"memory", quantity("100Gi")}}}},
       {{"cpu", 500}, {"memory", 107'374'182'400}}},
      {"into CPU: 250m a GPU, added to what is asked",
       {},
       {{"gpu", Strategy::kReplace, "", {{"cpu", quantity("250m")}}}},
       {{"cpu", 750}}},
      {"one that is not asked is not transformed",
       {},
       {{"tpu", Strategy::kReplace, "", {{"credits", quantity("5")}}}},
       {{"cpu", 500}, {"gpu", 1}}},
      {"what is left out is not transformed either",
       {"gpu"},
       {{"gpu", Strategy::kReplace, "", {{"credits", quantity("5")}}}},
       {{"cpu", 500}}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    InfoOptions options;
    options.excluded_resource_prefixes = row.excluded;
    options.transformations = row.transformations;
    EXPECT_EQ(EffectiveRequests(Plain().spec.pod_sets[0], options), row.requests);
  }
}

TEST(WorkloadInfoTest, WhatBelongsIntoAQueue) {
  struct Row {
    const char* name;
    bool active;
    const char* condition;
    bool value;
    bool belongs;
  };
  const Row rows[] = {
      {"a new one", true, "", false, true},
      {"an inactive one", false, "", false, false},
      {"a finished one", true, api::kFinished, true, false},
      {"one with quota", true, api::kQuotaReserved, true, false},
      {"one that was refused", true, api::kQuotaReserved, false, true},
      {"one that is being held back", true, api::kRequeued, false, true},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    api::Workload workload = Plain();
    workload.spec.active = row.active;
    if (*row.condition != '\0') {
      workload.status.conditions.push_back(
          {.type = row.condition,
           .status = row.value ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse});
    }
    EXPECT_EQ(BelongsInQueue(workload), row.belongs);
  }
  api::Workload claims = Plain();
  claims.spec.pod_sets[0].pod_template.spec.resource_claims = true;
  EXPECT_FALSE(BelongsInQueue(claims)) << "no quota counts its devices";
}

}  // namespace
}  // namespace berth::queue

// Goal: WorkloadInfo: counted and ignored parts of a workload, and equal shapes. Method: rows over
// one object that is changed.
#include "queue/workload_info.h"

#include <gtest/gtest.h>

#include "api/condition.h"
#include "api/labels.h"
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

TEST(WorkloadInfoTest, ShapeDependsOnlyOnFieldsThatTheSchedulerReads) {
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
      {"flavors used up",
       [](api::Workload& w) { w.meta.annotations[api::kAvoidedFlavorsAnnotation] = "spot"; },
       false},
      {"flavors used up by pending pods",
       [](api::Workload& w) {
         w.meta.annotations[api::kReactiveAvoidedFlavorsAnnotation] = "spot";
       },
       false},
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
      {"the same amount of another resource",
       [&](api::Workload& w) {
         spec(w).containers[0].requests = {{"cpu", 500}, {"tpu", 1}};
       },
       false},
      {"topology",
       [](api::Workload& w) { w.spec.pod_sets[0].topology_request.emplace().required = "rack"; },
       false},
      {"the pods in another pod set",
       [](api::Workload& w) { w.spec.pod_sets.push_back(w.spec.pod_sets[0]); }, false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Names names;
    api::Workload other = Plain();
    row.edit(other);
    EXPECT_EQ(InfoOf(Plain(), {}, names).shape == InfoOf(other, {}, names).shape, row.same);
  }
}

// Each row changes one field of a pod set that has them all.
TEST(WorkloadInfoTest, ShapeDependsOnEveryPlacementField) {
  api::Workload plain = Plain();
  api::PodSet& full = plain.spec.pod_sets[0];
  full.pod_template.spec.tolerations.push_back(
      {.key = "k", .op = "Equal", .value = "v", .effect = "NoSchedule", .toleration_seconds = 5});
  full.pod_template.spec.node_selector = {{"pool", "a"}};
  full.pod_template.spec.required_node_affinity = {{.match_expressions = {{"zone", "In", {"a"}}}}};
  full.pod_template.spec.preferred_node_affinity = {
      {1, {.match_expressions = {{"zone", "In", {"a"}}}}}};
  full.topology_request.emplace();
  full.topology_request->slice_constraints = {{"rack", 2}};
  using Edit = std::function<void(api::PodSet&)>;
  const auto toleration = [](api::PodSet& p) -> api::Toleration& {
    return p.pod_template.spec.tolerations[0];
  };
  const auto expression = [](api::PodSet& p) -> api::NodeSelectorRequirement& {
    return (*p.pod_template.spec.required_node_affinity)[0].match_expressions[0];
  };
  const std::pair<const char*, Edit> rows[] = {
      {"toleration's key", [&](api::PodSet& p) { toleration(p).key = "l"; }},
      {"toleration's operator", [&](api::PodSet& p) { toleration(p).op = "Exists"; }},
      {"toleration's value", [&](api::PodSet& p) { toleration(p).value = "w"; }},
      {"toleration's effect", [&](api::PodSet& p) { toleration(p).effect = "NoExecute"; }},
      {"toleration's seconds", [&](api::PodSet& p) { toleration(p).toleration_seconds = 6; }},
      {"selector's key",
       [](api::PodSet& p) {
         p.pod_template.spec.node_selector = {{"rack", "a"}};
       }},
      {"selector's value", [](api::PodSet& p) { p.pod_template.spec.node_selector["pool"] = "b"; }},
      {"affinity's key", [&](api::PodSet& p) { expression(p).key = "rack"; }},
      {"affinity's operator", [&](api::PodSet& p) { expression(p).op = "NotIn"; }},
      {"affinity's values", [&](api::PodSet& p) { expression(p).values = {"b"}; }},
      {"affinity's fields",
       [](api::PodSet& p) {
         (*p.pod_template.spec.required_node_affinity)[0].match_fields = {
             {"metadata.name", "In", {"n"}}};
       }},
      {"preference's weight",
       [](api::PodSet& p) { p.pod_template.spec.preferred_node_affinity[0].weight = 2; }},
      {"preference's values",
       [](api::PodSet& p) {
         p.pod_template.spec.preferred_node_affinity[0].preference.match_expressions[0].values = {
             "b"};
       }},
      {"required", [](api::PodSet& p) { p.topology_request->required = "rack"; }},
      {"preferred", [](api::PodSet& p) { p.topology_request->preferred = "rack"; }},
      {"unconstrained", [](api::PodSet& p) { p.topology_request->unconstrained = true; }},
      {"pod set group", [](api::PodSet& p) { p.topology_request->pod_set_group_name = "g"; }},
      {"slice topology", [](api::PodSet& p) { p.topology_request->slice_required_topology = "h"; }},
      {"slice size", [](api::PodSet& p) { p.topology_request->slice_size = 2; }},
      {"a constraint's level",
       [](api::PodSet& p) { p.topology_request->slice_constraints[0].topology = "host"; }},
      {"a constraint's size",
       [](api::PodSet& p) { p.topology_request->slice_constraints[0].size = 3; }},
  };
  for (const auto& [name, edit] : rows) {
    SCOPED_TRACE(name);
    Names names;
    api::Workload other = plain;
    edit(other.spec.pod_sets[0]);
    EXPECT_NE(InfoOf(plain, {}, names).shape, InfoOf(other, {}, names).shape);
  }
}

TEST(WorkloadInfoTest, AvoidedFlavorsMatchWholeNames) {
  Names names;
  api::Workload workload = Plain();
  EXPECT_FALSE(InfoOf(workload, {}, names).Avoids("spot"));
  EXPECT_FALSE(InfoOf(workload, {}, names).Avoids(""));
  workload.meta.annotations[api::kAvoidedFlavorsAnnotation] = "flex,spot-b,spot";
  const WorkloadInfo info = InfoOf(workload, {}, names);
  for (const char* avoided : {"flex", "spot-b", "spot"})
    EXPECT_TRUE(info.Avoids(avoided)) << avoided;
  for (const char* other : {"fle", "pot", "spot-", "lex,spot-b", ""}) {
    EXPECT_FALSE(info.Avoids(other)) << other;
  }
  workload.meta.annotations[api::kReactiveAvoidedFlavorsAnnotation] = "demand";
  const WorkloadInfo both = InfoOf(workload, {}, names);
  EXPECT_TRUE(both.avoids_flavors && both.Avoids("demand") && both.Avoids("flex"));
}

TEST(WorkloadInfoTest, CheckInRetryOrRejectedIsFailed) {
  using api::CheckState;
  for (const auto& [state, failed] :
       {std::pair(CheckState::kPending, false), std::pair(CheckState::kReady, false),
        std::pair(CheckState::kRetry, true), std::pair(CheckState::kRejected, true)}) {
    Names names;
    api::Workload workload = Plain();
    workload.status.admission_checks.push_back({.name = "c", .state = state});
    EXPECT_EQ(InfoOf(workload, {}, names).failed_check, failed);
  }
}

TEST(WorkloadInfoTest, PodSetsAreReadWithTheirCounts) {
  Names names;
  api::Workload workload = Plain();
  workload.status.reclaimable_pods = {{"main", 1}};
  const PodSetInfo fixed = InfoOf(workload, {}, names).pod_sets[0];
  EXPECT_EQ(fixed.count, 2);
  EXPECT_EQ(fixed.min_count, 3) << "without a minCount all pods are needed";
  EXPECT_FALSE(fixed.may_shrink);
  EXPECT_FALSE(fixed.topology_request);
  EXPECT_EQ(fixed.per_pod, (Requests{{names.Find("cpu"), 500}, {names.Find("gpu"), 1}}));
  workload.spec.pod_sets[0].min_count = 1;
  workload.spec.pod_sets[0].topology_request.emplace();
  const PodSetInfo elastic = InfoOf(workload, {}, names).pod_sets[0];
  EXPECT_EQ(elastic.min_count, 1);
  EXPECT_TRUE(elastic.may_shrink);
  EXPECT_TRUE(elastic.topology_request);
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
    EXPECT_EQ(CountsAfterReclaim(workload, ReclaimRule::kIgnored), std::vector<std::int32_t>{3});
    Names names;
    EXPECT_EQ(InfoOf(workload, {.reclaim = ReclaimRule::kIgnored}, names).pod_sets[0].count, 3);
  }
}

TEST(WorkloadInfoTest, EffectiveRequestsAreExcludedAndTransformed) {
  using Strategy = ResourceTransformation::Strategy;
  const auto quantity = [](const char* text) { return *api::Quantity::Parse(text); };
  struct Row {
    const char* name;
    std::vector<std::string> excluded;
    std::vector<ResourceTransformation> transformations;
    api::ResourceAmounts requests;  // what Plain()'s cpu 500m, gpu 1 become
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

TEST(WorkloadInfoTest, ActiveUnfinishedWorkloadsWithoutQuotaBelongInAQueue) {
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
  api::Workload deleted = Plain();
  deleted.meta.deletion_timestamp = WallTime{};
  EXPECT_FALSE(BelongsInQueue(deleted)) << "a finalizer keeps the object";
  api::Workload claims = Plain();
  claims.spec.pod_sets[0].pod_template.spec.resource_claims = true;
  EXPECT_TRUE(BelongsInQueue(claims)) << "the scheduler says whether quota counts its devices";
}

}  // namespace
}  // namespace berth::queue

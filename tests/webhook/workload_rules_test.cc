// Goal: validation of a Workload, and its immutable fields while it holds quota.
#include "webhook/workload_rules.h"

#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/job_pod_set.h"
#include "api/labels.h"
#include "api/reasons.h"

namespace berth::webhook {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

api::Workload Good() {
  api::Workload workload;
  workload.meta.name = "wl";
  api::PodSet pods;
  pods.count = 4;
  api::Container container;
  container.requests = {{"cpu", 100}};
  pods.pod_template.spec.containers = {container};
  workload.spec.pod_sets = {pods};
  workload.spec.queue_name = "lq";
  return workload;
}

api::Workload Reserved() {
  api::Workload workload = Good();
  workload.status.conditions = {
      {.type = api::kQuotaReserved, .status = api::ConditionStatus::kTrue}};
  workload.status.admission = api::Admission{
      .cluster_queue = "cq",
      .pod_set_assignments = {{.name = "main", .resource_usage = {{"cpu", 400}}, .count = 4}}};
  return workload;
}

struct WorkloadCase {
  std::string name;
  api::Workload old;  // an update where `update` is set, else the start of the new one
  bool update;
  std::function<void(api::Workload&)> change;
  std::string want;
};
void PrintTo(const WorkloadCase& c, std::ostream* out) { *out << c.name; }
class WorkloadRulesTest : public ::testing::TestWithParam<WorkloadCase> {};

TEST_P(WorkloadRulesTest, AWorkloadIsAllowedOrItsMistakeIsNamed) {
  const WorkloadCase& c = GetParam();
  api::Workload workload = c.old;
  c.change(workload);
  const FieldErrors errors =
      ValidateWorkload(workload, c.update ? &c.old : nullptr, {.priority_boost = true});
  if (c.want.empty()) {
    EXPECT_THAT(errors, IsEmpty());
  } else {
    EXPECT_THAT(errors, Contains(HasSubstr(c.want)));
  }
}

void NothingChanges(api::Workload&) {}

INSTANTIATE_TEST_SUITE_P(
    Table, WorkloadRulesTest,
    ::testing::ValuesIn(std::vector<WorkloadCase>{
        {"Good", Good(), false, NothingChanges, ""},
        {"GoodReserved", Reserved(), true, NothingChanges, ""},
        {"MinCountAboveCount", Good(), false, [](auto& w) { w.spec.pod_sets[0].min_count = 5; },
         "spec.podSets[0]: Invalid value: \"main\": minCount should be positive"},
        {"TwoMinCounts", Good(), false,
         [](auto& w) {
           w.spec.pod_sets[0].min_count = 1;
           w.spec.pod_sets.push_back(w.spec.pod_sets[0]);
         },
         "at most one podSet can use minCount"},
        {"PodsIsReserved", Good(), false,
         [](auto& w) { w.spec.pod_sets[0].pod_template.spec.containers[0].requests["pods"] = 1; },
         "resources.requests[pods]: Invalid value: \"pods\": the key is reserved"},
        {"PodsIsReservedInLimits", Good(), false,
         [](auto& w) { w.spec.pod_sets[0].pod_template.spec.containers[0].limits["pods"] = 1; },
         "containers[0].resources.limits[pods]: Invalid value: \"pods\": the key is reserved"},
        {"PodsIsReservedInPodRequests", Good(), false,
         [](auto& w) { w.spec.pod_sets[0].pod_template.spec.pod_requests["pods"] = 1; },
         "template.spec.resources.requests[pods]: Invalid value: \"pods\": the key is reserved"},
        {"PodsIsReservedInPodLimits", Good(), false,
         [](auto& w) { w.spec.pod_sets[0].pod_template.spec.pod_limits["pods"] = 1; },
         "template.spec.resources.limits[pods]: Invalid value: \"pods\": the key is reserved"},
        {"NegativeRequest", Good(), false,
         [](auto& w) { w.spec.pod_sets[0].pod_template.spec.containers[0].requests["cpu"] = -1; },
         "must be greater than or equal to 0"},
        {"NegativeLimit", Good(), false,
         [](auto& w) { w.spec.pod_sets[0].pod_template.spec.containers[0].limits["gpu"] = -1; },
         "spec.podSets[0].template.spec.containers[0].resources.limits[gpu]: Invalid value: "
         "\"-1\": must be greater than or equal to 0"},
        {"NegativeInitLimit", Good(), false,
         [](auto& w) {
           w.spec.pod_sets[0].pod_template.spec.init_containers = {{.limits = {{"cpu", -1}}}};
         },
         "spec.initContainers[0].resources.limits[cpu]: Invalid value: \"-1m\""},
        {"NegativePodRequest", Good(), false,
         [](auto& w) { w.spec.pod_sets[0].pod_template.spec.pod_requests["cpu"] = -1; },
         "template.spec.resources.requests[cpu]: Invalid value: \"-1m\""},
        {"NegativePodLimit", Good(), false,
         [](auto& w) { w.spec.pod_sets[0].pod_template.spec.pod_limits["cpu"] = -1; },
         "template.spec.resources.limits[cpu]: Invalid value: \"-1m\""},
        {"NegativeOverhead", Good(), false,
         [](auto& w) { w.spec.pod_sets[0].pod_template.spec.overhead["cpu"] = -1; },
         "template.spec.overhead[cpu]: Invalid value: \"-1m\""},
        {"NegativeUsage", Reserved(), false,
         [](auto& w) { w.status.admission->pod_set_assignments[0].resource_usage["cpu"] = -400; },
         "podSetAssignments[0].resourceUsage[cpu]: Invalid value: \"-400m\""},
        {"BadTemplateLabel", Good(), false,
         [](auto& w) {
           w.spec.pod_sets[0].pod_template.labels = {{"a", "not good"}};
         },
         "spec.podSets[0].template.metadata.labels: Invalid value: \"not good\""},
        {"ReservedWithoutAdmission", Reserved(), false, [](auto& w) { w.status.admission.reset(); },
         "status.admission: Required value: must be set when quota is reserved"},
        {"AssignmentsMissing", Reserved(), false,
         [](auto& w) { w.status.admission->pod_set_assignments.clear(); },
         "podSetAssignments must have the same number of podSets as the spec"},
        {"UsageDoesNotDivide", Reserved(), false,
         [](auto& w) { w.status.admission->pod_set_assignments[0].resource_usage["cpu"] = 401; },
         "is not a multiple of 4"},
        {"ReclaimTooMany", Reserved(), false,
         [](auto& w) {
           w.status.reclaimable_pods = {{"main", 5}};
         },
         "status.reclaimablePods[main].count: Invalid value: 5: should be less or equal to 4"},
        {"ReclaimUnknownPodSet", Reserved(), false,
         [](auto& w) {
           w.status.reclaimable_pods = {{"x", 1}};
         },
         "status.reclaimablePods[x].name: Unsupported value: \"x\": supported values: \"main\""},
        {"UpdateOfUnknownPodSet", Reserved(), false,
         [](auto& w) {
           w.status.admission_checks = {{.name = "c", .pod_set_updates = {{.name = "x"}}}};
         },
         "status.admissionChecks[0].podSetUpdates[0].name"},
        {"UpdateWithBadSelectorKey", Reserved(), false,
         [](auto& w) {
           w.status.admission_checks = {
               {.name = "c", .pod_set_updates = {{.name = "main", .node_selector = {{"a b", "c"}}}}}};
         },
         "status.admissionChecks[0].podSetUpdates[0].nodeSelector: Invalid value: \"a b\""},
        {"UpdateWithBadSelectorValue", Reserved(), false,
         [](auto& w) {
           w.status.admission_checks = {
               {.name = "c", .pod_set_updates = {{.name = "main", .node_selector = {{"a", "b c"}}}}}};
         },
         "podSetUpdates[0].nodeSelector: Invalid value: \"b c\""},
        {"UpdateWithBadAnnotationKey", Reserved(), false,
         [](auto& w) {
           w.status.admission_checks = {
               {.name = "c", .pod_set_updates = {{.name = "main", .annotations = {{"/a", "b"}}}}}};
         },
         "podSetUpdates[0].annotations: Invalid value: \"/a\""},
        {"UpdateWithBadLabelValue", Reserved(), false,
         [](auto& w) {
           w.status.admission_checks = {
               {.name = "c", .pod_set_updates = {{.name = "main", .labels = {{"a", "b c"}}}}}};
         },
         "podSetUpdates[0].labels: Invalid value: \"b c\""},
        {"BadBoost", Good(), false,
         [](auto& w) { w.meta.annotations[api::kPriorityBoostAnnotation] = ""; },
         "priority-boost]: Invalid value: \"\": must be a signed integer"},
        {"BoostOf32Bits", Good(), false,
         [](auto& w) { w.meta.annotations[api::kPriorityBoostAnnotation] = "-2147483648"; }, ""},
        {"BoostOf33Bits", Good(), false,
         [](auto& w) { w.meta.annotations[api::kPriorityBoostAnnotation] = "2147483648"; },
         "priority-boost]: Invalid value: \"2147483648\": must be a signed integer of 32 bits"},
        {"PodSetsDoNotGrow", Reserved(), true, [](auto& w) { w.spec.pod_sets[0].count = 5; },
         "spec.podSets: Invalid value: \"wl\": field is immutable"},
        {"PodSetsMayChangeWithoutQuota", Good(), true,
         [](auto& w) { w.spec.pod_sets[0].count = 3; }, ""},
        {"QueueIsFrozen", Reserved(), true, [](auto& w) { w.spec.queue_name = "x"; },
         "queueName is immutable while workload quota reserved"},
        {"AdmissionMayBeCleared", Reserved(), true,
         [](auto& w) {
           w.status.admission.reset();
           w.status.conditions[0].status = api::ConditionStatus::kFalse;
         },
         ""},
        {"AdmissionMayNotBeEdited", Reserved(), true,
         [](auto& w) { w.status.admission->cluster_queue = "other"; },
         "status.admission: Invalid value: \"other\": field is immutable"},
        {"TopologyMayBeAssigned", Reserved(), true,
         [](auto& w) { w.status.admission->pod_set_assignments[0].topology_assignment.emplace(); },
         ""},
        {"PriorityMayChange", Reserved(), true, [](auto& w) { w.spec.priority = 9; }, ""},
        {"PriorityClassIsFrozen", Reserved(), true,
         [](auto& w) {
           w.spec.priority_class_ref = api::PriorityClassRef{"g", "k", "n"};
         },
         "priorityClassRef is immutable while workload quota reserved"},
        {"GatesAreNotAdded", Good(), true,
         [](auto& w) { w.meta.annotations[api::kAdmissionGatedByAnnotation] = "a.io/g"; },
         "gates cannot be added after creation"},
    }),
    [](const auto& row) { return row.param.name; });

api::Workload Slice() {
  api::Workload slice = Reserved();
  slice.meta.annotations[api::kElasticJobAnnotation] = "true";
  return slice;
}

TEST(WorkloadRulesUpdateTest, AWorkloadWithQuotaMayOnlyShrink) {
  struct SliceRow {
    const char* name;
    std::function<void(api::Workload&)> change;
    bool allowed;
  };
  const SliceRow rows[] = {
      {"fewer pods", [](auto& slice) { slice.spec.pod_sets[0].count = 3; }, true},
      {"more pods", [](auto& slice) { slice.spec.pod_sets[0].count = 5; }, false},
      {"another name", [](auto& slice) { slice.spec.pod_sets[0].name = "x"; }, false},
      {"another template",
       [](auto& slice) {
         slice.spec.pod_sets[0].pod_template.spec.containers[0].requests = {{"cpu", 50}};
       },
       false},
  };
  for (const SliceRow& row : rows) {
    for (const api::Workload& old : {Slice(), Reserved()}) {
      SCOPED_TRACE(std::string(row.name) +
                   (old.meta.annotations.empty() ? "" : " of an elastic job"));
      api::Workload changed = old;
      row.change(changed);
      const FieldErrors errors = ValidateWorkload(changed, &old);
      EXPECT_EQ(errors.empty(), row.allowed) << (errors.empty() ? "" : errors[0]);
      const FieldErrors with_gate_off = ValidateWorkload(changed, &old, {.elastic_jobs = false});
      EXPECT_FALSE(with_gate_off.empty());
    }
  }
}

TEST(WorkloadRulesUpdateTest, ShrunkSliceMayLowerReclaimablePods) {
  api::Workload old = Slice();
  old.status.reclaimable_pods = {{"main", 3}};
  api::Workload shrunk = old;
  shrunk.spec.pod_sets[0].count = 2;
  EXPECT_THAT(ValidateWorkload(shrunk, &old), IsEmpty());  // 3 of 2: the next write caps them
  api::Workload more = shrunk;
  more.status.reclaimable_pods = {{"main", 4}};
  EXPECT_THAT(ValidateWorkload(more, &shrunk), Contains(HasSubstr("less or equal to 2")));
  api::Workload capped = shrunk;
  capped.status.reclaimable_pods = {{"main", 1}};
  EXPECT_THAT(ValidateWorkload(capped, &shrunk), IsEmpty());
  capped.status.reclaimable_pods.clear();
  EXPECT_THAT(ValidateWorkload(capped, &shrunk), IsEmpty());
}

TEST(WorkloadRulesUpdateTest, PartiallyAdmittedSliceMayLowerReclaimablePods) {
  api::Workload old = Slice();
  old.status.reclaimable_pods = {{"main", 3}};
  old.status.admission->pod_set_assignments[0].count = 1;  // admitted with three of four to give
  api::Workload now = old;
  now.status.reclaimable_pods.clear();
  EXPECT_THAT(ValidateWorkload(now, &old), IsEmpty());
  old.status.reclaimable_pods = {{"main", 4}};
  EXPECT_THAT(ValidateWorkload(now, &old), Contains(HasSubstr("cannot be removed")));
}

TEST(WorkloadRulesTest, ASliceHasNoMinCount) {
  api::Workload slice = Slice();
  slice.spec.pod_sets[0].min_count = 1;
  EXPECT_THAT(ValidateWorkload(slice, nullptr),
              Contains(HasSubstr("spec.podSets[0].minCount: Forbidden")));
}

TEST(WorkloadRulesUpdateTest, ReclaimablePodsMayNotDecrease) {
  api::Workload old = Reserved();
  old.status.reclaimable_pods = {{"main", 2}};
  api::Workload now = old;
  now.status.reclaimable_pods = {{"main", 1}};
  EXPECT_THAT(ValidateWorkload(now, &old), Contains(HasSubstr("cannot be less then 2")));
  now.status.reclaimable_pods.clear();
  EXPECT_THAT(ValidateWorkload(now, &old), Contains(HasSubstr("cannot be removed")));
}

TEST(WorkloadRulesUpdateTest, PodSetUpdatesOfReadyChecksAreImmutable) {
  api::Workload old = Reserved();
  old.status.admission_checks = {{.name = "c",
                                  .state = api::CheckState::kReady,
                                  .pod_set_updates = {{.name = "main", .labels = {{"a", "b"}}}}}};
  api::Workload now = old;
  now.status.admission_checks[0].pod_set_updates.clear();
  EXPECT_THAT(ValidateWorkload(now, &old),
              Contains(HasSubstr("status.admissionChecks[0].podSetUpdates")));
  now.status.admission_checks[0].state = api::CheckState::kPending;
  EXPECT_THAT(ValidateWorkload(now, &old), IsEmpty());
}

TEST(WorkloadRulesTest, PriorityBoostIsValidatedOnlyWithItsGate) {
  api::Workload workload = Good();
  workload.meta.annotations[api::kPriorityBoostAnnotation] = "much";
  EXPECT_THAT(ValidateWorkload(workload, nullptr), IsEmpty());
  EXPECT_EQ(ValidateWorkload(workload, nullptr, {.priority_boost = true}).size(), 1U);
}

// Kubernetes before 1.34 writes `creationTimestamp: null` into templates.
TEST(WorkloadRules, MembersThatAreNullAreNoChangeOfATemplate) {
  const auto with = [](const char* metadata, std::int32_t count) {
    api::Workload workload = Reserved();
    workload.spec.pod_sets[0].count = count;
    std::vector<api::JobPodSet> pod_sets = api::JobPodSetsOf(workload.spec);
    pod_sets[0].Take(*api::Decode<api::PodTemplate>(nlohmann::json::parse(
        std::string("{\"metadata\":{") + metadata + "},\"spec\":{\"containers\":[]}}")));
    api::SetPodSets(std::move(pod_sets), workload.spec);
    return workload;
  };
  const ReviewGates gates{.elastic_jobs = true};
  const api::Workload old = with("\"creationTimestamp\":null", 4);
  EXPECT_THAT(ValidateWorkload(with("", 1), &old, gates), IsEmpty());
  EXPECT_THAT(ValidateWorkload(with("\"annotations\":{\"a\":\"b\"}", 1), &old, gates),
              Contains(HasSubstr("spec.podSets: Invalid value: \"wl\": field is immutable")));
}

}  // namespace
}  // namespace berth::webhook

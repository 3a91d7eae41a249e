// Goal: validation of ClusterQueues, Cohorts and ResourceFlavors, with the fields of errors.
#include "webhook/quota_rules.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/gpu_shares.h"
#include "api/labels.h"

namespace berth::webhook {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

api::ClusterQueue Queue() {
  api::ClusterQueue queue;
  queue.spec.cohort_name = "org";
  queue.spec.resource_groups = {
      {.covered_resources = {"cpu", "nvidia.com/gpu"},
       .flavors = {{"spot", {{"cpu", 1000}, {"nvidia.com/gpu", 8}}},
                   {"reserved", {{"cpu", 1000}, {"nvidia.com/gpu", 8}}}}}};
  return queue;
}

struct QueueCase {
  std::string name;
  std::function<void(api::ClusterQueue&)> change;
  std::string want;  // part of an error; empty: none
};
void PrintTo(const QueueCase& c, std::ostream* out) { *out << c.name; }
class ClusterQueueRulesTest : public ::testing::TestWithParam<QueueCase> {};

TEST_P(ClusterQueueRulesTest, AClusterQueueIsAllowedOrItsMistakeIsNamed) {
  api::ClusterQueue queue = Queue();
  GetParam().change(queue);
  const FieldErrors errors = ValidateClusterQueue(queue, nullptr);
  if (GetParam().want.empty()) {
    EXPECT_THAT(errors, IsEmpty());
  } else {
    EXPECT_THAT(errors, Contains(HasSubstr(GetParam().want)));
  }
}

api::ResourceQuota& Quota(api::ClusterQueue& queue) {
  return queue.spec.resource_groups[0].flavors[0].resources[1];
}

INSTANTIATE_TEST_SUITE_P(
    Table, ClusterQueueRulesTest,
    ::testing::ValuesIn(std::vector<QueueCase>{
        {"Good", [](auto&) {}, ""},
        {"Order", [](auto& q) { q.meta.annotations["berth.dev/order"] = "ShortestFirst"; }, ""},
        {"UnknownOrder", [](auto& q) { q.meta.annotations["berth.dev/order"] = "Longest"; },
         "metadata.annotations: Invalid value: berth.dev/order: \"Longest\" is not one of: Fifo, "
         "ShortestFirst"},
        {"NegativeQuota", [](auto& q) { Quota(q).nominal_quota = -1; },
         "spec.resourceGroups[0].flavors[0].resources[1].nominalQuota: Invalid value: \"-1\": must "
         "be greater than or equal to 0"},
        {"NegativeBorrowing", [](auto& q) { Quota(q).borrowing_limit = -1; },
         "resources[1].borrowingLimit: Invalid value: \"-1\": must be greater than or equal to 0"},
        {"NegativeLending", [](auto& q) { Quota(q).lending_limit = -1; },
         "resources[1].lendingLimit: Invalid value: \"-1\": must be greater than or equal to 0"},
        {"BorrowingAlone",
         [](auto& q) {
           q.spec.cohort_name = "";
           Quota(q).borrowing_limit = 1;
         },
         "resources[1].borrowingLimit: Invalid value: \"1\": must be nil when cohort is empty"},
        {"LendingTooMuch", [](auto& q) { Quota(q).lending_limit = 9; },
         "lendingLimit: Invalid value: \"9\": must be less than or equal to the nominalQuota"},
        {"ResourcesInAnotherOrder",
         [](auto& q) {
           std::swap(q.spec.resource_groups[0].flavors[1].resources[0],
                     q.spec.resource_groups[0].flavors[1].resources[1]);
         },
         "spec.resourceGroups[0].flavors[1].resources[0].name: Invalid value: "
         "\"nvidia.com/gpu\": must match the name in coveredResources"},
        {"ResourceMissing",
         [](auto& q) { q.spec.resource_groups[0].flavors[1].resources.pop_back(); },
         "flavors must have the same number of resources as the coveredResources"},
        {"ResourceInTwoGroups",
         [](auto& q) {
           q.spec.resource_groups.push_back(
               {.covered_resources = {"cpu"}, .flavors = {{"other", {{"cpu", 1}}}}});
         },
         "spec.resourceGroups[1].coveredResources[0]: Duplicate value: \"cpu\""},
        {"FlavorInTwoGroups",
         [](auto& q) {
           q.spec.resource_groups.push_back(
               {.covered_resources = {"memory"}, .flavors = {{"spot", {{"memory", 1}}}}});
         },
         "spec.resourceGroups[1].flavors[0].name: Duplicate value: \"spot\""},
        {"BadResourceName",
         [](auto& q) { q.spec.resource_groups[0].covered_resources[0] = "@cpu"; },
         "spec.resourceGroups[0].coveredResources[0]: Invalid value: \"@cpu\""},
        {"BorrowWithoutReclaim",
         [](auto& q) {
           q.spec.preemption.borrow_within_cohort = api::PreemptionPolicy::kLowerPriority;
         },
         "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"},
        {"NegativeWeight", [](auto& q) { q.spec.fair_weight_nano = -1; },
         "spec.fairSharing.weight: Invalid value"},
        {"TinyWeight", [](auto& q) { q.spec.fair_weight_nano = 1; },
         "must be either 0 or greater than 10^-9"},
        {"UnknownFlavorOfACheck",
         [](auto& q) {
           q.spec.admission_checks = {{"prov", {"spot", "gone"}}};
         },
         "admissionChecks[0].onFlavors[1]: Unsupported value: \"gone\": supported values: "
         "\"reserved\", \"spot\""},
        {"BadSelector",
         [](auto& q) {
           q.spec.namespace_selector =
               api::LabelSelector{.match_expressions = {{.key = "a", .op = "Is", .values = {"b"}}}};
         },
         "spec.namespaceSelector.matchExpressions[0].operator: Invalid value: \"Is\": not a valid "
         "selector operator"},
        {"SelectorWithoutValues",
         [](auto& q) {
           q.spec.namespace_selector =
               api::LabelSelector{.match_expressions = {{.key = "a", .op = "In"}}};
         },
         "matchExpressions[0].values: Required value"},
        {"BadCohort", [](auto& q) { q.spec.cohort_name = "Org!"; }, "spec.cohortName"},
    }),
    [](const auto& row) { return row.param.name; });

TEST(ClusterQueueUpdateTest, UnchangedUnknownFlavorOfACheckIsAllowed) {
  api::ClusterQueue queue = Queue();
  queue.spec.admission_checks = {{"prov", {"gone"}}};
  EXPECT_THAT(ValidateClusterQueue(queue, &queue), IsEmpty());
  api::ClusterQueue changed = queue;
  changed.spec.admission_checks[0].on_flavors.push_back("also-gone");
  EXPECT_EQ(ValidateClusterQueue(changed, &queue).size(), 2U);
}

TEST(CohortRulesTest, LimitsNeedAParentAndLendingMayExceedNominal) {
  api::Cohort cohort;
  cohort.spec.resource_groups = Queue().spec.resource_groups;
  cohort.spec.resource_groups[0].flavors[0].resources[1].lending_limit = 100;
  EXPECT_EQ(ValidateCohort(cohort).size(), 1U);
  cohort.spec.parent_name = "root";
  EXPECT_THAT(ValidateCohort(cohort), IsEmpty());
}

TEST(CohortRulesTest, NegativeAmountsAreRefused) {
  api::Cohort cohort;
  cohort.spec.parent_name = "root";
  cohort.spec.resource_groups = {{.covered_resources = {"cpu"},
                                  .flavors = {{"spot",
                                               {{.resource = "cpu",
                                                 .nominal_quota = -1,
                                                 .borrowing_limit = -2,
                                                 .lending_limit = -3}}}}}};
  EXPECT_THAT(ValidateCohort(cohort),
              ElementsAre(HasSubstr("nominalQuota: Invalid value: \"-1m\""),
                          HasSubstr("borrowingLimit: Invalid value: \"-2m\""),
                          HasSubstr("lendingLimit: Invalid value: \"-3m\"")));
}

TEST(ResourceFlavorRulesTest, ErrorNamesInvalidLabelsTaintsAndTolerations) {
  api::ResourceFlavor flavor;
  flavor.node_labels = {{"good", "v"}, {"bad key", "v"}};
  flavor.node_taints = {
      {"spot", "", "NoSchedule"}, {"spot", "x", "NoSchedule"}, {"a", "", "Never"}};
  flavor.tolerations = {{.op = "Equal"},
                        {.key = "a", .op = "Exists", .value = "v"},
                        {.key = "a", .effect = "NoSchedule", .toleration_seconds = 3}};
  const FieldErrors errors = ValidateResourceFlavor(flavor, nullptr);
  EXPECT_THAT(errors, Contains(HasSubstr("spec.nodeLabels: Invalid value: \"bad key\"")));
  EXPECT_THAT(errors, Contains(HasSubstr("spec.nodeTaints[1]: Duplicate value")));
  EXPECT_THAT(errors, Contains(HasSubstr("spec.nodeTaints[2].effect: Unsupported value")));
  EXPECT_THAT(errors, Contains(HasSubstr("operator must be Exists when 'key' is empty")));
  EXPECT_THAT(errors, Contains(HasSubstr("a value must be empty when 'operator' is 'Exists'")));
  EXPECT_THAT(errors, Contains(HasSubstr("effect must be 'NoExecute'")));
}

TEST(ResourceFlavorRulesTest, RejectsInvalidSharesOfGpus) {
  api::ResourceFlavor flavor;
  flavor.meta.annotations = {{api::kSharesPerGpuAnnotation, "nvidia.com/gpu=3"},
                             {api::kMostPerPodAnnotation, "nvidia.com/gpu=1"}};
  EXPECT_THAT(ValidateResourceFlavor(flavor, nullptr), IsEmpty());
  flavor.meta.annotations[api::kSharesPerGpuAnnotation] = "nvidia.com/gpu=0";
  EXPECT_THAT(
      ValidateResourceFlavor(flavor, nullptr),
      ElementsAre(HasSubstr("metadata.annotations[berth.dev/shares-per-gpu]: Invalid value: "
                            "\"nvidia.com/gpu=0\": \"nvidia.com/gpu=0\" must be "
                            "RESOURCE=NUMBER")));
}

TEST(ResourceFlavorRulesTest, RejectsInvalidPrices) {
  api::ResourceFlavor flavor;
  for (const char* good : {"0.445", "0", "3"}) {
    flavor.meta.annotations = {{api::kPricePerHourAnnotation, good}};
    EXPECT_THAT(ValidateResourceFlavor(flavor, nullptr), IsEmpty()) << good;
  }
  for (const char* bad : {"-0.1", "cheap", ""}) {
    flavor.meta.annotations = {{api::kPricePerHourAnnotation, bad}};
    EXPECT_THAT(ValidateResourceFlavor(flavor, nullptr),
                ElementsAre(HasSubstr("metadata.annotations[berth.dev/price-per-hour]: Invalid "
                                      "value: \"" +
                                      std::string(bad) + "\": must be USD for one node")))
        << bad;
  }
}

TEST(ResourceFlavorRulesTest, TopologyNeedsNodeLabelsAndIsImmutable) {
  api::ResourceFlavor flavor;
  flavor.topology_name = "dc";
  EXPECT_THAT(ValidateResourceFlavor(flavor, nullptr), Contains(HasSubstr("nodeLabel")));
  flavor.node_labels = {{"a", "b"}};
  EXPECT_THAT(ValidateResourceFlavor(flavor, &flavor), IsEmpty());
  api::ResourceFlavor changed = flavor;
  changed.topology_name = "";
  EXPECT_EQ(ValidateResourceFlavor(changed, &flavor).size(), 1U);
  changed = flavor;
  changed.node_labels = {{"a", "c"}};
  changed.tolerations = {{.key = "k", .op = "Exists"}};
  EXPECT_THAT(ValidateResourceFlavor(changed, &flavor), IsEmpty()) << "the rest may change";
}

}  // namespace
}  // namespace berth::webhook

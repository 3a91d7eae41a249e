// Goal: quota counts the requests of pods with the cluster's defaults, and pods that the cluster
// would refuse are reported. Method: tables of LimitRanges and one workload.
#include "admission/workloads/pod_defaults.h"

#include <gtest/gtest.h>

namespace berth::admission {
namespace {

using api::ResourceAmounts;

api::Workload WithContainer(ResourceAmounts requests, ResourceAmounts limits) {
  api::Workload workload;
  workload.meta.namespace_name = "team";
  workload.meta.name = "w";
  api::Container container;
  container.requests = std::move(requests);
  container.limits = std::move(limits);
  api::PodSet pods;
  pods.count = 1;
  pods.pod_template.spec.containers = {container};
  workload.spec.pod_sets = {pods};
  return workload;
}

api::LimitRange Range(const std::string& name, api::LimitRangeItem item) {
  api::LimitRange range;
  range.meta.namespace_name = "team";
  range.meta.name = name;
  range.items = {std::move(item)};
  return range;
}

ResourceAmounts Asked(const PodDefaults& defaults, const api::Workload& workload) {
  const auto completed = defaults.Completed(std::make_shared<const api::Workload>(workload));
  return api::PodRequests(completed->spec.pod_sets[0].pod_template.spec);
}

TEST(PodDefaults, LimitsComeBeforeTheDefaultsOfTheNamespace) {
  PodDefaults defaults;
  defaults.Set(Range("a", {.type = "Container",
                           .default_limits = {{"memory", 64}},
                           .default_requests = {{"cpu", 500}, {"memory", 32}}}));
  defaults.Set(Range("b", {.type = "Container", .default_requests = {{"cpu", 7}, {"gpu", 1}}}));
  struct Row {
    ResourceAmounts requests;
    ResourceAmounts limits;
    ResourceAmounts asked;
  };
  const std::vector<Row> rows = {
      {{}, {}, {{"cpu", 500}, {"memory", 32}, {"gpu", 1}}},
      {{{"cpu", 100}}, {}, {{"cpu", 100}, {"memory", 32}, {"gpu", 1}}},
      {{}, {{"cpu", 2000}}, {{"cpu", 2000}, {"memory", 32}, {"gpu", 1}}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(Asked(defaults, WithContainer(row.requests, row.limits)), row.asked);
  }
  defaults.RemoveLimitRange({"team", "a"});
  EXPECT_EQ(Asked(defaults, WithContainer({}, {})), (ResourceAmounts{{"cpu", 7}, {"gpu", 1}}));
  defaults.RemoveLimitRange({"team", "b"});
  EXPECT_EQ(Asked(defaults, WithContainer({}, {})), ResourceAmounts{});
}

TEST(PodDefaults, AddTheOverheadOfARuntimeClass) {
  PodDefaults defaults;
  api::RuntimeClass vm;
  vm.meta.name = "vm";
  vm.overhead = {{"cpu", 250}};
  defaults.Set(vm);
  api::Workload workload = WithContainer({{"cpu", 1000}}, {});
  EXPECT_EQ(Asked(defaults, workload), (ResourceAmounts{{"cpu", 1000}}));
  workload.spec.pod_sets[0].pod_template.spec.runtime_class_name = "vm";
  EXPECT_EQ(Asked(defaults, workload), (ResourceAmounts{{"cpu", 1250}}));
  workload.spec.pod_sets[0].pod_template.spec.overhead = {{"cpu", 10}};
  EXPECT_EQ(Asked(defaults, workload), (ResourceAmounts{{"cpu", 1010}})) << "it says so itself";
  defaults.RemoveRuntimeClass("vm");
  workload.spec.pod_sets[0].pod_template.spec.overhead.clear();
  EXPECT_EQ(Asked(defaults, workload), (ResourceAmounts{{"cpu", 1000}}));
}

TEST(PodDefaults, WorkloadWithoutDefaultsIsNotCopied) {
  PodDefaults defaults;
  const auto workload = std::make_shared<const api::Workload>(WithContainer({}, {}));
  EXPECT_EQ(defaults.Completed(workload), workload);
  defaults.Set(Range("pods", {.type = "Pod", .max = {{"cpu", 1}}}));
  EXPECT_EQ(defaults.Completed(workload), workload);
  defaults.Set(Range("most", {.type = "Container", .max = {{"cpu", 9}}}));
  EXPECT_EQ(defaults.Completed(workload), workload);
  defaults.Set(Range("add", {.type = "Container", .default_requests = {{"cpu", 2}}}));
  const auto says_so = std::make_shared<const api::Workload>(WithContainer({{"cpu", 1}}, {}));
  EXPECT_EQ(defaults.Completed(says_so), says_so);
  EXPECT_NE(defaults.Completed(workload), workload);
}

TEST(PodDefaults, ReportWhyPodsWouldBeRejected) {
  struct Row {
    const char* type;
    ResourceAmounts min;
    ResourceAmounts max;
    api::Workload workload;
    std::string problem;
  };
  const std::string constraints = "resources didn't satisfy LimitRange constraints: ";
  const std::string at = "spec.podSets[0].template.spec";
  const std::string container = at + ".containers[0]: Invalid value: [\"cpu\"]: ";
  const std::vector<Row> rows = {
      {"Container", {}, {}, WithContainer({{"cpu", 5}}, {{"cpu", 5}}), ""},
      {"Container",
       {},
       {},
       WithContainer({{"cpu", 5}}, {{"cpu", 4}}),
       "resources validation failed: " + container + "requests must not exceed its limits"},
      {"Container", {}, {{"cpu", 4}}, WithContainer({{"cpu", 4}}, {}), ""},
      {"Container",
       {},
       {{"cpu", 4}},
       WithContainer({{"cpu", 5}}, {}),
       constraints + container + "requests must not be above the limitRange max"},
      {"Container",
       {},
       {{"cpu", 4}},
       WithContainer({{"cpu", 1}}, {{"cpu", 5}}),
       constraints + container + "requests must not be above the limitRange max"},
      {"Container",
       {{"cpu", 2}},
       {},
       WithContainer({{"cpu", 1}}, {{"cpu", 5}}),
       constraints + container + "requests must not be below the limitRange min"},
      {"Container", {{"cpu", 2}}, {}, WithContainer({{"memory", 1}}, {}), ""},
      {"Pod",
       {},
       {{"cpu", 4}},
       WithContainer({{"cpu", 5}}, {}),
       constraints + at +
           ": Invalid value: [\"cpu\"]: requests must not be above the limitRange max"},
      {"PersistentVolumeClaim", {}, {{"cpu", 4}}, WithContainer({{"cpu", 5}}, {}), ""},
  };
  for (const Row& row : rows) {
    PodDefaults defaults;
    defaults.Set(Range("a", {.type = row.type, .min = row.min, .max = row.max}));
    EXPECT_EQ(defaults.Problem(row.workload), row.problem);
  }
}

TEST(PodDefaults, RequestsOfThePodStayBelowItsLimits) {
  const PodDefaults defaults;
  api::Workload workload = WithContainer({{"cpu", 1}}, {});
  api::PodSpec& spec = workload.spec.pod_sets[0].pod_template.spec;
  spec.pod_requests = {{"cpu", 5}, {"memory", 1}};
  spec.pod_limits = {{"cpu", 5}};
  EXPECT_EQ(defaults.Problem(workload), "");
  spec.pod_limits = {{"cpu", 4}};
  EXPECT_EQ(defaults.Problem(workload),
            "resources validation failed: spec.podSets[0].template.spec.resources: Invalid value: "
            "[\"cpu\"]: requests must not exceed its limits");
}

TEST(PodDefaults, NarrowestOfSeveralRangesCounts) {
  PodDefaults defaults;
  defaults.Set(Range("a", {.type = "Container", .max = {{"cpu", 4}}}));
  defaults.Set(Range("b", {.type = "Container", .max = {{"cpu", 2}}}));
  EXPECT_NE(defaults.Problem(WithContainer({{"cpu", 3}}, {})), "");
  api::Workload elsewhere = WithContainer({{"cpu", 3}}, {});
  elsewhere.meta.namespace_name = "other";
  EXPECT_EQ(defaults.Problem(elsewhere), "");
}

}  // namespace
}  // namespace berth::admission

// Goal: each rule of `berth lint` finds its mistake and nothing beside it.
// Method: a cluster without a finding, and one change of it for each rule.
#include "simulation/lint.h"

#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/labels.h"
#include "checks/controller_names.h"
#include "tests/simulation/day.h"

namespace berth::simulation {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

LintInput Clean() {
  LintInput input;
  input.cluster = EmptyCluster();
  AddQueue(input.cluster, "a", 4, "org").spec.preemption = {};
  AddQueue(input.cluster, "b", 4, "org").spec.preemption = {};
  return input;
}

// "error cohort-cycle Cohort x spec.parentName"
std::vector<std::string> Lines(const std::vector<LintFinding>& findings) {
  std::vector<std::string> lines;
  for (const LintFinding& each : findings) {
    std::string field;
    for (const std::string& part : each.field) field += (field.empty() ? "" : ".") + part;
    lines.push_back(std::string(ToString(each.severity)) + " " + each.rule + " " + each.kind + " " +
                    each.name + " " + field);
  }
  return lines;
}

std::vector<std::string> Changed(const std::function<void(LintInput&)>& change) {
  LintInput input = Clean();
  change(input);
  return Lines(LintQueues(input));
}

api::ClusterQueue& FirstQueue(LintInput& input) { return input.cluster.cluster_queues[0]; }
api::ResourceQuota& FirstQuota(LintInput& input) {
  return FirstQueue(input).spec.resource_groups[0].flavors[0].resources[0];
}

TEST(LintTest, ACleanClusterHasNoFindings) { EXPECT_THAT(Lines(LintQueues(Clean())), IsEmpty()); }

TEST(LintTest, ACycleOfCohortsIsAnError) {
  EXPECT_THAT(Changed([](LintInput& input) {
                for (const auto& [name, parent] : {std::pair("x", "y"), std::pair("y", "x")}) {
                  api::Cohort& cohort = input.cluster.cohorts.emplace_back();
                  cohort.meta.name = name;
                  cohort.spec.parent_name = parent;
                }
              }),
              ElementsAre("error cohort-cycle Cohort x spec.parentName",
                          "error cohort-cycle Cohort y spec.parentName"));
}

// A Cohort "org" with 4 of `resource` of `flavor`, above the Cohort of the clean queues.
void AddCohort(LintInput& input, const char* flavor, const char* resource) {
  api::Cohort& cohort = input.cluster.cohorts.emplace_back();
  cohort.meta.name = "org";
  api::ResourceQuota quota;
  quota.resource = resource;
  quota.nominal_quota = 4000;
  cohort.spec.resource_groups.push_back({{resource}, {{flavor, {quota}}}});
}

TEST(LintTest, UnusableQuotasOfCohortsAreFound) {
  EXPECT_THAT(Changed([](LintInput& input) { AddCohort(input, "default", "cpu"); }), IsEmpty());
  EXPECT_THAT(Changed([](LintInput& input) { AddCohort(input, "default", "memory"); }),
              ElementsAre("warning cohort-quota-unusable Cohort org "
                          "spec.resourceGroups.0.flavors.0.resources.0.nominalQuota"));
  EXPECT_THAT(Changed([](LintInput& input) { AddCohort(input, "other", "cpu"); }),
              ElementsAre("error unknown-flavor Cohort org spec.resourceGroups.0.flavors.0.name"));
  EXPECT_THAT(Changed([](LintInput& input) {
                AddCohort(input, "default", "memory");
                input.cluster.cohorts[0].meta.name = "empty";
              }),
              ElementsAre("warning cohort-without-queue Cohort empty metadata.name"));
  // Queues below a Cohort below.
  EXPECT_THAT(Changed([](LintInput& input) {
                AddCohort(input, "default", "cpu");
                input.cluster.cohorts[0].meta.name = "root";
                api::Cohort& inner = input.cluster.cohorts.emplace_back();
                inner.meta.name = "org";
                inner.spec.parent_name = "root";
              }),
              IsEmpty());
}

TEST(LintTest, FlavorsWithoutMatchingNodesAreFound) {
  const auto labelled = [](LintInput& input) {
    input.cluster.flavors[0].node_labels = {{"gpu", "t4"}};
  };
  EXPECT_THAT(Changed(labelled), IsEmpty());  // no nodes are known
  EXPECT_THAT(Changed([&](LintInput& input) {
                labelled(input);
                input.node_labels = {{{"gpu", "a100"}}, {{"zone", "t4"}}};
              }),
              ElementsAre("warning flavor-without-nodes ResourceFlavor default spec.nodeLabels"));
  EXPECT_THAT(Changed([&](LintInput& input) {
                labelled(input);
                input.node_labels = {{}, {{"gpu", "t4"}, {"zone", "b"}}};
              }),
              IsEmpty());
}

// What cannot be read is there all the same.
TEST(LintTest, UnreadableObjectsCountAsPresent) {
  EXPECT_THAT(Changed([](LintInput& input) {
                FirstQueue(input).spec.admission_checks = {{.check = "dws"}};
                FirstQueue(input).spec.resource_groups[0].flavors[0].flavor = "other";
                input.cluster.local_queues[1].cluster_queue = "c";
                input.unreadable = {"AdmissionCheck/dws", "ResourceFlavor/other", "ClusterQueue/c",
                                    "LocalQueue/b"};
              }),
              IsEmpty());
}

TEST(LintTest, UnusedAndUnknownFlavorsAndTopologiesAreFound) {
  EXPECT_THAT(
      Changed([](LintInput& input) { input.cluster.flavors.emplace_back().meta.name = "spare"; }),
      ElementsAre("warning flavor-in-no-queue ResourceFlavor spare metadata.name"));
  EXPECT_THAT(Changed([](LintInput& input) { input.cluster.flavors[0].topology_name = "racks"; }),
              ElementsAre("error unknown-topology ResourceFlavor default spec.topologyName"));
  EXPECT_THAT(Changed([](LintInput& input) {
                input.cluster.flavors[0].topology_name = "racks";
                input.topologies = {"racks"};
              }),
              IsEmpty());
  EXPECT_THAT(Changed([](LintInput& input) {
                FirstQueue(input).spec.resource_groups[0].flavors[0].flavor = "other";
              }),
              ElementsAre("error unknown-flavor ClusterQueue a "
                          "spec.resourceGroups.0.flavors.0.name"));
}

TEST(LintTest, QuotasAndLimitsThatCannotBeUsedAreFound) {
  EXPECT_THAT(Changed([](LintInput& input) {
                FirstQueue(input).spec.cohort_name.clear();
                FirstQuota(input).nominal_quota = 0;
              }),
              ElementsAre("warning flavor-out-of-reach ClusterQueue a "
                          "spec.resourceGroups.0.flavors.0"));
  EXPECT_THAT(Changed([](LintInput& input) {
                FirstQuota(input).nominal_quota = 0;
                FirstQuota(input).borrowing_limit = 0;
              }),
              ElementsAre("warning flavor-out-of-reach ClusterQueue a "
                          "spec.resourceGroups.0.flavors.0"));
  EXPECT_THAT(Changed([](LintInput& input) { FirstQuota(input).borrowing_limit = 5000; }),
              ElementsAre("warning limit-out-of-reach ClusterQueue a "
                          "spec.resourceGroups.0.flavors.0.resources.0.borrowingLimit"));
  EXPECT_THAT(Changed([](LintInput& input) { FirstQuota(input).borrowing_limit = 4000; }),
              IsEmpty());
  EXPECT_THAT(Changed([](LintInput& input) {
                FirstQueue(input).spec.cohort_name.clear();
                FirstQuota(input).borrowing_limit = 1;
              }),
              ElementsAre("error limit-without-cohort ClusterQueue a "
                          "spec.resourceGroups.0.flavors.0.resources.0.borrowingLimit"));
  EXPECT_THAT(Changed([](LintInput& input) { FirstQuota(input).lending_limit = 4001; }),
              ElementsAre("error limit-above-quota ClusterQueue a "
                          "spec.resourceGroups.0.flavors.0.resources.0.lendingLimit"));
  EXPECT_THAT(Changed([](LintInput& input) {
                FirstQueue(input).spec.resource_groups[0].flavors[0].resources.push_back(
                    {.resource = "memory"});
              }),
              ElementsAre("warning quota-unusable ClusterQueue a "
                          "spec.resourceGroups.0.flavors.0"));
  EXPECT_THAT(Changed([](LintInput& input) { FirstQueue(input).spec.resource_groups.clear(); }),
              ElementsAre("error no-quota ClusterQueue a spec.resourceGroups"));
  EXPECT_THAT(Changed([](LintInput& input) {
                FirstQueue(input).meta.annotations["berth.dev/order"] = "shortest";
              }),
              ElementsAre("error queue-policy ClusterQueue a metadata.annotations"));
}

TEST(LintTest, QueuesThatNoWorkloadCanUseAreFound) {
  EXPECT_THAT(Changed([](LintInput& input) { input.cluster.local_queues.pop_back(); }),
              ElementsAre("warning queue-without-localqueue ClusterQueue b metadata.name"));
  EXPECT_THAT(Changed([](LintInput& input) {
                input.cluster.local_queues[0].cluster_queue = "c";
                input.cluster.cluster_queues.erase(input.cluster.cluster_queues.begin());
              }),
              ElementsAre("error unknown-queue LocalQueue team/a spec.clusterQueue"));
  EXPECT_THAT(Changed([](LintInput& input) { FirstQueue(input).spec.namespace_selector.reset(); }),
              ElementsAre("error no-namespace ClusterQueue a spec.namespaceSelector"));
  EXPECT_THAT(Changed([](LintInput& input) {
                FirstQueue(input).spec.namespace_selector->match_labels = {{"team", "a"}};
              }),
              ElementsAre("error namespace-not-selected LocalQueue team/a metadata.namespace"));
  EXPECT_THAT(Changed([](LintInput& input) {
                FirstQueue(input).spec.stop_policy = api::StopPolicy::kHold;
                input.cluster.local_queues[1].stop_policy = api::StopPolicy::kHoldAndDrain;
              }),
              ElementsAre("warning queue-stopped ClusterQueue a spec.stopPolicy",
                          "warning queue-stopped LocalQueue team/b spec.stopPolicy"));
}

TEST(LintTest, ChecksWithoutObjectControllerOrParametersAreFound) {
  const auto named = [](LintInput& input, const char* controller) {
    FirstQueue(input).spec.admission_checks = {{.check = "dws"}};
    api::AdmissionCheck& check = input.checks.emplace_back();
    check.meta.name = "dws";
    check.controller_name = controller;
    check.parameters = {.kind = "ProvisioningRequestConfig", .name = "dws"};
  };
  EXPECT_THAT(
      Changed([](LintInput& input) { FirstQueue(input).spec.admission_checks = {{.check = "x"}}; }),
      ElementsAre("error unknown-check ClusterQueue a "
                  "spec.admissionChecksStrategy.admissionChecks.0"));
  EXPECT_THAT(Changed([&](LintInput& input) { named(input, "example.com/approval"); }),
              ElementsAre("warning check-without-controller AdmissionCheck dws "
                          "spec.controllerName"));
  EXPECT_THAT(
      Changed([&](LintInput& input) { named(input, checks::kProvisioningCheckController); }),
      ElementsAre("error check-without-parameters AdmissionCheck dws spec.parameters.name"));
  EXPECT_THAT(Changed([&](LintInput& input) {
                named(input, checks::kProvisioningCheckController);
                input.parameters = {"ProvisioningRequestConfig/dws"};
              }),
              IsEmpty());
}

TEST(LintTest, PreemptionThatStarvesWorkloadsIsFound) {
  EXPECT_THAT(Changed([](LintInput& input) {
                FirstQueue(input).spec.preemption.within_cluster_queue =
                    api::PreemptionPolicy::kLowerPriority;
              }),
              ElementsAre("warning priority-starves ClusterQueue a "
                          "spec.preemption.withinClusterQueue"));
  EXPECT_THAT(Changed([](LintInput& input) {
                FirstQueue(input).spec.preemption.within_cluster_queue =
                    api::PreemptionPolicy::kLowerPriority;
                input.cluster.priority_classes.pop_back();
              }),
              IsEmpty());
  EXPECT_THAT(Changed([](LintInput& input) {
                FirstQuota(input).nominal_quota = 0;
                input.cluster.cluster_queues[1].spec.preemption.reclaim_within_cohort =
                    api::PreemptionPolicy::kAny;
              }),
              ElementsAre("warning priority-starves ClusterQueue a spec.resourceGroups"));
}

TEST(LintTest, StepsInAnotherOrderThanTheFlavorsAreFound) {
  const auto with_steps = [](std::vector<std::string> flavors) {
    return Changed([&flavors](LintInput& input) {
      auto& group = FirstQueue(input).spec.resource_groups[0];
      for (const char* name : {"spot", "demand"}) {
        input.cluster.flavors.emplace_back().meta.name = name;
        group.flavors.push_back(group.flavors[0]);
        group.flavors.back().flavor = name;
      }
      api::AdmissionCheck& check = input.checks.emplace_back();
      check.meta.name = "capacity";
      check.controller_name = checks::kReactiveCheckController;
      FirstQueue(input).spec.admission_checks = {{.check = "capacity"}};
      for (std::string& flavor : flavors) {
        const std::string step = "step-" + flavor;
        input.policies["capacity"].steps.push_back({.name = step, .flavor = std::move(flavor)});
      }
    });
  };
  EXPECT_THAT(with_steps({"default", "spot", "demand"}), IsEmpty());
  EXPECT_THAT(with_steps({"spot", "", "elsewhere", "spot", "demand"}), IsEmpty());
  EXPECT_THAT(with_steps({"demand", "spot"}),
              ElementsAre("warning steps-against-flavors ClusterQueue a "
                          "spec.resourceGroups.0.flavors"));
}

std::vector<LintFinding> LintJobOf(const std::string& queue, int cpus, LintInput input) {
  auto workload = std::make_shared<api::Workload>();
  workload->meta.namespace_name = "team";
  workload->meta.name = "job";
  workload->meta.uid = "job";
  workload->spec.queue_name = queue;
  api::PodSet pods;
  pods.pod_template.spec.containers.emplace_back().requests = {{"cpu", 1000 * cpus}};
  workload->spec.pod_sets = std::vector<api::PodSet>{pods};
  Prepare(input.cluster);
  return LintJobs(input.cluster, {{"Job", workload}}, {});
}

TEST(LintTest, JobsThatAreNeverAdmittedAreFound) {
  EXPECT_THAT(LintJobOf("a", 4, Clean()), IsEmpty());
  EXPECT_THAT(LintJobOf("a", 8, Clean()), IsEmpty());  // it borrows
  EXPECT_THAT(LintJobOf("", 99, Clean()), IsEmpty());  // it is not queued
  const auto large = LintJobOf("a", 9, Clean());
  ASSERT_THAT(Lines(large), ElementsAre("error never-admitted Job team/job metadata.name"));
  EXPECT_THAT(large[0].message, HasSubstr("maximum capacity"));
  EXPECT_THAT(LintJobOf("c", 1, Clean())[0].message, HasSubstr("LocalQueue team/c"));
  LintInput strict = Clean();
  FirstQueue(strict).spec.queueing_strategy = api::QueueingStrategy::kStrictFifo;
  EXPECT_THAT(LintJobOf("a", 9, strict)[0].message, HasSubstr("no job behind it starts"));
}

}  // namespace
}  // namespace berth::simulation

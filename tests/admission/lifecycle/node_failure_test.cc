// Goal: which nodes count as failed for a workload, with the consequences.
#include "admission/lifecycle/node_failure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/labels.h"
#include "api/reasons.h"

namespace berth::admission {
namespace {

using namespace std::chrono_literals;
using Health = NodeVerdict::Health;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const WallTime kSeenAt{std::chrono::seconds(1'700'000'000)};

// Admitted on flavor "spot", two pods on n1 and one on n2.
api::Workload Placed() {
  api::Workload workload;
  workload.meta = {.namespace_name = "team", .name = "w"};
  workload.spec.pod_sets.emplace_back().count = 3;
  api::PodSetAssignment assigned{.flavors = {{"cpu", "spot"}}, .count = 3};
  assigned.topology_assignment =
      api::TopologyAssignment{{api::kHostnameLabel}, {{{"n1"}, 2}, {{"n2"}, 1}}};
  ReserveQuota(workload.status, {"cq", {assigned}}, {}, 1, kSeenAt);
  return workload;
}

// A pod in short: "run", "end" (deleted), "over", "wait".
api::Pod PodOf(const std::string& state) {
  api::Pod pod;
  pod.phase = state == "over" ? "Failed" : state == "wait" ? "Pending" : "Running";
  if (state != "wait") pod.spec.node_name = "node-of-n1";
  if (state == "end") pod.meta.deletion_timestamp = kSeenAt;
  return pod;
}

api::Node NodeOf(const std::string& ready, std::chrono::seconds since,
                 const std::vector<api::Taint>& taints) {
  api::Node node;
  node.meta.name = "node-of-n1";
  node.taints = taints;
  if (ready.empty()) return node;
  node.conditions = {{.type = "Ready",
                      .status = ready == "True"    ? api::ConditionStatus::kTrue
                                : ready == "False" ? api::ConditionStatus::kFalse
                                                   : api::ConditionStatus::kUnknown,
                      .last_transition_time = kSeenAt - since}};
  return node;
}

struct NodeRow {
  const char* name;
  const char* ready;  // null: the node is gone; empty: no condition
  std::chrono::seconds since;
  std::vector<api::Taint> taints;
  std::vector<std::string> bound;
  NodeFailureOptions options;
  Health health;
  bool fail_waiting;
  std::optional<Duration> look_again;
};

class NodeFailureTest : public ::testing::TestWithParam<NodeRow> {};

TEST_P(NodeFailureTest, ReadinessTaintsAndPodsDecideWhetherANodeHasFailed) {
  const NodeRow& row = GetParam();
  const api::Workload workload = Placed();
  WorkloadOnNode on_node{&workload, {}, {PodOf("wait")}};
  for (const std::string& state : row.bound) on_node.bound.push_back(PodOf(state));
  api::ResourceFlavor spot;
  spot.tolerations = {{.key = "spot", .op = "Exists"},
                      {.key = "moves", .op = "Exists", .toleration_seconds = 60}};
  const auto flavors = [&spot](const std::string& name) {
    return name == "spot" ? &spot : nullptr;
  };
  const api::Node node = NodeOf(row.ready == nullptr ? "" : row.ready, row.since, row.taints);
  std::vector<const api::Node*> nodes;
  if (row.ready != nullptr) nodes.push_back(&node);
  const NodeVerdict verdict = JudgeHostname("n1", nodes, on_node, flavors, row.options, kSeenAt);
  EXPECT_EQ(verdict.health, row.health);
  EXPECT_EQ(verdict.fail_waiting, row.fail_waiting);
  EXPECT_EQ(verdict.look_again, row.look_again);
}

constexpr Health kHealthy = Health::kHealthy;
constexpr Health kUnhealthy = Health::kUnhealthy;
constexpr NodeFailureOptions kByTime{.replace_on_pod_termination = false};
constexpr NodeFailureOptions kBoth{.replace_after_delay = true};
constexpr NodeFailureOptions kNoTaints{.replace_on_taints = false};

INSTANTIATE_TEST_SUITE_P(
    Rows, NodeFailureTest,
    ::testing::ValuesIn(std::vector<NodeRow>{
        {"Well", "True", 0s, {}, {"run"}, {}, kHealthy, false, {}},
        {"Gone", nullptr, 0s, {}, {"run"}, {}, kUnhealthy, true, {}},
        {"WithoutCondition", "", 0s, {}, {"run"}, {}, kUnhealthy, true, {}},
        {"NotReadyWithPods", "False", 1h, {}, {"over", "run"}, {}, kHealthy, false, {}},
        {"NotReadyPodsEnd", "False", 0s, {}, {"over", "end"}, {}, kUnhealthy, true, {}},
        {"NotReadyNobodyThere", "Unknown", 0s, {}, {}, {}, kUnhealthy, true, {}},
        {"ByTimeTooEarly", "False", 10s, {}, {}, kByTime, kHealthy, false, 20s},
        {"ByTime", "False", 30s, {}, {"run"}, kByTime, kUnhealthy, true, {}},
        {"BothTooEarly", "False", 10s, {}, {"run"}, kBoth, kHealthy, false, 20s},
        {"BothLate", "False", 40s, {}, {"run"}, kBoth, kUnhealthy, true, {}},
        {"BothPodsEnd", "False", 1s, {}, {"end"}, kBoth, kUnhealthy, true, {}},
        {"TaintedWithPods",
         "True",
         0s,
         {{"bad", "", "NoExecute"}},
         {"run"},
         {},
         kHealthy,
         false,
         {}},
        {"TaintedPodsEnd",
         "True",
         0s,
         {{"bad", "", "NoExecute"}},
         {"end"},
         {},
         kUnhealthy,
         true,
         {}},
        {"CordonedWithPods",
         "True",
         0s,
         {{"bad", "", "NoSchedule"}},
         {"run"},
         {},
         kUnhealthy,
         true,
         {}},
        {"Cordoned", "True", 0s, {{"bad", "", "NoSchedule"}}, {}, {}, kUnhealthy, true, {}},
        {"ToleratedForGood",
         "True",
         0s,
         {{"spot", "", "NoExecute"}},
         {"end"},
         {},
         kHealthy,
         false,
         {}},
        {"ToleratedForAWhile",
         "True",
         0s,
         {{"moves", "", "NoExecute"}},
         {"end"},
         {},
         kUnhealthy,
         true,
         {}},
        {"OnlyAWish", "True", 0s, {{"bad", "", "PreferNoSchedule"}}, {}, {}, kHealthy, false, {}},
        {"TaintsDoNotCount",
         "True",
         0s,
         {{"bad", "", "NoExecute"}},
         {},
         kNoTaints,
         kHealthy,
         false,
         {}},
    }),
    [](const auto& row) { return std::string(row.param.name); });

TEST(NodeFailureStandingTest, RunningPodsStayOnACordonedNode) {
  const api::Workload workload = Placed();
  const api::Node node = NodeOf("True", 0s, {{"bad", "", "NoSchedule"}});
  const NodeVerdict verdict = JudgeHostname(
      "n1", {&node}, {&workload, {PodOf("run")}, {}}, [](const std::string&) { return nullptr; },
      {}, kSeenAt);
  EXPECT_EQ(verdict.health, kHealthy) << "no pod waits for the node";
}

TEST(NodeFailureStandingTest, PodOnANodeOutsideTheAssignmentFailsAtOnce) {
  const api::Workload workload = Placed();
  const NodeVerdict verdict = JudgeHostname(
      "n3", {}, {&workload, {}, {PodOf("wait")}}, [](const std::string&) { return nullptr; }, {},
      kSeenAt);
  EXPECT_EQ(verdict.health, kHealthy);
  EXPECT_TRUE(verdict.fail_waiting);
}

// Two nodes bear the hostname; a pod runs on the first one.
TEST(NodeFailureStandingTest, AHostnameFailsWithTheLastOfItsNodes) {
  const api::Workload workload = Placed();
  const auto judge = [&workload](const std::vector<api::Node>& nodes,
                                 const NodeFailureOptions& options = {}) {
    std::vector<const api::Node*> seen;
    for (const api::Node& node : nodes) seen.push_back(&node);
    return JudgeHostname(
        "n1", seen, {&workload, {PodOf("run")}, {PodOf("wait")}},
        [](const std::string&) { return nullptr; }, options, kSeenAt);
  };
  const auto second = [](const std::string& ready, std::chrono::seconds since,
                         const std::vector<api::Taint>& taints = {}) {
    api::Node node = NodeOf(ready, since, taints);
    node.meta.name = "second";
    return node;
  };
  EXPECT_EQ(judge({NodeOf("", 0s, {}), second("True", 0s)}).health, kHealthy);
  EXPECT_FALSE(judge({NodeOf("", 0s, {}), second("True", 0s)}).fail_waiting);
  EXPECT_EQ(judge({NodeOf("", 0s, {}), second("", 0s)}).health, kUnhealthy);
  EXPECT_EQ(judge({NodeOf("", 0s, {}), second("False", 0s)}).health, kUnhealthy)
      << "the pod runs on another node";
  EXPECT_EQ(judge({NodeOf("False", 0s, {}), second("", 0s)}).health, kHealthy);
  EXPECT_EQ(judge({NodeOf("", 0s, {}), second("True", 0s, {{"bad", "", "NoSchedule"}})}).health,
            kUnhealthy);
  EXPECT_EQ(judge({NodeOf("False", 10s, {}), second("False", 5s)}, kByTime).look_again, 25s)
      << "the last one";
}

TEST(NodeFailureStandingTest, TheWorkloadOfOnePodIsNotMoved) {
  api::Workload workload = Placed();
  const auto judge = [&workload] {
    return JudgeHostname(
        "n1", {}, {&workload, {}, {PodOf("wait")}}, [](const std::string&) { return nullptr; }, {},
        kSeenAt);
  };
  EXPECT_EQ(judge().health, kUnhealthy);
  workload.meta.owner_references = {
      {.api_version = "v1", .kind = "Pod", .name = "p", .uid = "u", .controller = true}};
  EXPECT_EQ(judge().health, kHealthy);
  EXPECT_TRUE(judge().fail_waiting) << "the pod can never be bound";
  workload.meta.owner_references[0].controller = false;
  EXPECT_EQ(judge().health, kUnhealthy) << "a group makes other pods";
}

TEST(NodeFailureStandingTest, OnlyAdmittedWorkloadsWithHostnamesHaveNodes) {
  api::Workload workload = Placed();
  EXPECT_THAT(HostnamesOf(workload), ElementsAre("n1", "n2"));
  workload.status.admission->pod_set_assignments[0].topology_assignment->levels = {"rack"};
  EXPECT_THAT(HostnamesOf(workload), IsEmpty());
  workload = Placed();
  Evict(workload.status, {"Preempted", "", ""}, 1, kSeenAt);
  EXPECT_THAT(HostnamesOf(workload), IsEmpty());
}

TEST(NodeHealthPlanTest, UnhealthyNodeIsNamedUntilItIsHealthy) {
  api::Workload workload = Placed();
  EXPECT_FALSE(PlanNodeHealth(workload, "n1", kHealthy, kSeenAt).status);
  WorkloadPlan plan = PlanNodeHealth(workload, "n1", kUnhealthy, kSeenAt);
  ASSERT_TRUE(plan.status);
  EXPECT_THAT(plan.status->unhealthy_nodes, ElementsAre("n1"));
  EXPECT_THAT(plan.events, IsEmpty());
  workload.status = *plan.status;
  EXPECT_FALSE(PlanNodeHealth(workload, "n1", kUnhealthy, kSeenAt).status);
  plan = PlanNodeHealth(workload, "n1", kHealthy, kSeenAt);
  ASSERT_TRUE(plan.status);
  EXPECT_THAT(plan.status->unhealthy_nodes, IsEmpty());
}

TEST(NodeHealthPlanTest, ASecondNodeEvicts) {
  api::Workload workload = Placed();
  workload.status.unhealthy_nodes = {"n1"};
  const WorkloadPlan plan = PlanNodeHealth(workload, "n2", kUnhealthy, kSeenAt);
  ASSERT_TRUE(plan.status);
  const api::Condition* evicted = api::FindCondition(plan.status->conditions, api::kEvicted);
  ASSERT_NE(evicted, nullptr);
  EXPECT_EQ(evicted->reason, "NodeFailures");
  EXPECT_EQ(evicted->message,
            "Workload eviction triggered due to multiple TAS assigned node failures, including: "
            "n1, n2");
  EXPECT_THAT(plan.status->unhealthy_nodes, IsEmpty());
  ASSERT_EQ(plan.events.size(), 1U);
  EXPECT_EQ(plan.events[0].reason, "EvictedDueToNodeFailures");
}

TEST(NodeHealthPlanTest, EvictionMessageNamesNodesWithoutReplacement) {
  api::Workload workload = Placed();
  workload.status.unhealthy_nodes = {"n1"};
  EXPECT_EQ(NoReplacement(workload).message,
            "Workload was evicted as there was no replacement for unhealthy node(s): n1");
}

}  // namespace
}  // namespace berth::admission

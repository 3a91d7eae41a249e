// Goal: each gated pod goes to its assigned domain, and no domain gets too many pods.
#include "integrations/ungating.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "tests/integrations/fixtures.h"

namespace berth::integrations {
namespace {

using testing::Admit;
using testing::GpuJob;
using testing::WorkloadFor;

constexpr char kRack[] = "cloud.com/rack";

// A pod in short: "0" is gated with index 0, "1@r1" was let go to r1, "-@r1" has no index,
// "2@r1!" is being deleted, "2@r1." has ended.
PodPtr PodOf(const std::string& text, std::size_t number) {
  auto pod = std::make_shared<api::Pod>();
  pod->meta = {.namespace_name = "default", .name = "p" + std::to_string(number)};
  pod->meta.labels = {{api::kPodSetLabel, "main"}};
  pod->phase = "Pending";
  std::string rest = text;
  if (rest.ends_with("!")) pod->meta.deletion_timestamp = testing::At(9);
  if (rest.ends_with(".")) pod->phase = "Failed";
  if (rest.ends_with("!") || rest.ends_with(".")) rest.pop_back();
  const std::size_t at = rest.find('@');
  const std::string index = rest.substr(0, at);
  if (index != "-") pod->meta.labels[api::kCompletionIndexLabel] = index;
  if (at == std::string::npos) {
    pod->spec.scheduling_gates = {"other", api::kTopologyGate};
  } else {
    pod->spec.node_selector = {{kRack, rest.substr(at + 1)}};
  }
  return pod;
}

// "r1:2 r2:1"
api::TopologyAssignment AssignmentOf(const std::string& text) {
  api::TopologyAssignment assignment{{kRack}, {}};
  for (const std::string_view part : Split(text, ' ')) {
    const std::string domain(part);
    const std::size_t colon = domain.find(':');
    assignment.domains.push_back({{domain.substr(0, colon)}, std::stoi(domain.substr(colon + 1))});
  }
  return assignment;
}

api::Workload Placed(const std::string& assignment, std::int32_t count) {
  api::Workload workload = WorkloadFor(GpuJob(count, count));
  Admit(workload);
  workload.status.admission->pod_set_assignments[0].topology_assignment = AssignmentOf(assignment);
  return workload;
}

// "p0>r1 p1>r2"
std::string Told(const std::vector<Ungating>& plan) {
  std::vector<std::string> parts;
  for (const Ungating& one : plan) {
    parts.push_back(one.pod->meta.name + ">" + one.node_labels.at(kRack));
  }
  return Join(parts, " ");
}

struct UngatingRow {
  const char* name;
  const char* assignment;
  std::int32_t count;
  std::vector<std::string> pods;
  const char* expected;
};

class UngatingTest : public ::testing::TestWithParam<UngatingRow> {};

TEST_P(UngatingTest, SendsPodsToTheirDomains) {
  const UngatingRow& row = GetParam();
  std::vector<PodPtr> pods;
  for (const std::string& text : row.pods) pods.push_back(PodOf(text, pods.size()));
  EXPECT_EQ(Told(PlanUngating(Placed(row.assignment, row.count), pods)), row.expected);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, UngatingTest,
    ::testing::ValuesIn(std::vector<UngatingRow>{
        {"ByRank", "r1:2 r2:1", 3, {"2", "0", "1"}, "p1>r1 p2>r1 p0>r2"},
        {"OnlyThoseThatAreThere", "r1:2 r2:2", 4, {"3", "1"}, "p1>r1 p0>r2"},
        {"GreedyWithoutIndexes", "r1:2 r2:1", 3, {"-", "-", "-"}, "p0>r1 p1>r1 p2>r2"},
        {"GreedyWhereOneHasNoIndex", "r1:1 r2:1", 2, {"1", "-"}, "p0>r1 p1>r2"},
        {"GreedyFillsWhatIsLeft", "r1:2 r2:2", 4, {"-@r1", "-@r2", "-", "-"}, "p2>r1 p3>r2"},
        {"GreedyByIndexWhereTwoHaveOne", "r1:1 r2:1", 2, {"1", "0", "0"}, "p1>r1 p2>r2"},
        {"NoPlaceNoPod", "r1:1", 1, {"-@r1", "-"}, ""},
        {"NoDomainGetsTooMany", "r1:1 r2:1", 2, {"-", "-", "-"}, "p0>r1 p1>r2"},
        {"APodThatHasEndedLeavesItsPlace", "r1:1 r2:1", 2, {"0@r1.", "1@r2", "0"}, "p2>r1"},
        {"APodThatIsBeingDeletedKeepsIt", "r1:1 r2:1", 2, {"0@r1!", "1@r2", "0"}, ""},
        {"AGatedPodThatIsBeingDeletedIsLeftAlone", "r1:1", 1, {"0!"}, ""},
        // The node of pod 0 was replaced: running pods stay, the new pod takes the free domain.
        {"ReplacedDomain", "r2:1 r3:1", 2, {"0@r1.", "1@r2", "0"}, "p2>r3"},
        // Pods of a domain that is not assigned do not count.
        {"StrayInAnotherDomain", "r2:1", 1, {"0@r1!", "0"}, "p1>r2"},
        {"IndexBeyondTheCount", "r1:1 r2:1", 2, {"5", "7"}, "p0>r1 p1>r2"},
        {"EmptyAssignment", "r1:0", 1, {"0"}, ""},
    }),
    [](const auto& row) { return std::string(row.param.name); });

TEST(UngatingStandingTest, WaitsForAdmission) {
  api::Workload workload = Placed("r1:1", 1);
  const std::vector<PodPtr> pods{PodOf("0", 0)};
  EXPECT_EQ(PlanUngating(workload, pods).size(), 1U);
  testing::SetTrue(workload, api::kEvicted);
  EXPECT_TRUE(PlanUngating(workload, pods).empty());
  api::Workload waiting = Placed("r1:1", 1);
  std::erase_if(waiting.status.conditions, [](const auto& c) { return c.type == api::kAdmitted; });
  EXPECT_TRUE(PlanUngating(waiting, pods).empty());
}

TEST(UngatingStandingTest, SelectorHasEveryLevel) {
  api::Workload workload = Placed("r1:1", 1);
  auto& assignment = *workload.status.admission->pod_set_assignments[0].topology_assignment;
  assignment.levels = {"block", kRack};
  assignment.domains = {{{"b1", "r1"}, 1}};
  const auto plan = PlanUngating(workload, {PodOf("0", 0)});
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_EQ(plan[0].node_labels, (api::StringMap{{"block", "b1"}, {kRack, "r1"}}));
}

TEST(UngatingStandingTest, PodsOfOtherPodSetsAreLeftAlone) {
  auto pod = std::make_shared<api::Pod>(*PodOf("0", 0));
  pod->meta.labels[api::kPodSetLabel] = "leader";
  EXPECT_TRUE(PlanUngating(Placed("r1:1", 1), {pod}).empty());
}

// The lower name would take the only domain, and the pod that the slice admits would wait for ever.
TEST(UngatingStandingTest, APodThatItsSliceDoesNotAdmitTakesNoDomain) {
  auto held = std::make_shared<api::Pod>(*PodOf("-", 0));
  held->spec.scheduling_gates.emplace_back(api::kElasticJobGate);
  EXPECT_EQ(Told(PlanUngating(Placed("r1:1", 1), {held, PodOf("-", 1)})), "p1>r1");
}

// The node is being replaced: the pod would be lost.
TEST(UngatingStandingTest, NoPodGoesToAnUnhealthyNode) {
  api::Workload workload = Placed("n1:1 n2:1", 2);
  workload.status.admission->pod_set_assignments[0].topology_assignment->levels = {
      api::kHostnameLabel};
  workload.status.unhealthy_nodes = {"n1"};
  const auto plan = PlanUngating(workload, {PodOf("0", 0), PodOf("1", 1)});
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_EQ(plan[0].node_labels.at(api::kHostnameLabel), "n2");
}

// Leader and workers of a group count their indexes together, the leader first.
TEST(UngatingGroupTest, WorkersIndexesFollowTheLeaders) {
  api::Workload workload = Placed("r1:1 r2:1", 2);
  api::PodSet& workers = workload.spec.pod_sets[0];
  workers.topology_request.emplace().pod_set_group_name = "g";
  api::PodSet leader = workers;
  leader.name = "leader";
  leader.count = 1;
  workload.spec.pod_sets.push_back(leader);
  api::PodSetAssignment assigned{.name = "leader", .count = 1};
  assigned.topology_assignment = AssignmentOf("r1:1");
  workload.status.admission->pod_set_assignments.push_back(assigned);
  EXPECT_EQ(Told(PlanUngating(workload, {PodOf("2", 0), PodOf("1", 1)})), "p1>r1 p0>r2");
}

TEST(UngatingGroupTest, PodsAreRankedBySubGroupThenIndex) {
  api::Workload workload = Placed("r1:2 r2:2", 4);
  api::TopologyRequest& request = workload.spec.pod_sets[0].topology_request.emplace();
  request.sub_group_index_label = "job-index";
  request.sub_group_count = 2;
  std::vector<PodPtr> pods;
  for (const char* indexes : {"1 0", "0 1", "1 1", "0 0"}) {  // job, pod
    auto pod = std::make_shared<api::Pod>(*PodOf(std::string(indexes).substr(2), pods.size()));
    pod->meta.labels["job-index"] = std::string(indexes).substr(0, 1);
    pods.push_back(pod);
  }
  EXPECT_EQ(Told(PlanUngating(workload, pods)), "p3>r1 p1>r1 p0>r2 p2>r2");
}

}  // namespace
}  // namespace berth::integrations

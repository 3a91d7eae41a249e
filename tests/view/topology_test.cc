// Goal: the page shows where the room of the racks is, who takes it, and where a gang would fit;
// names of other namespaces are numbers.
//
// Method: racks of nodes with eight GPUs, pods and Workloads on them; TopologyJson.
#include "view/screens/topology.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "api/reasons.h"

namespace berth::view {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr char kGpuItems[] = "nvidia.com/gpu";
constexpr char kRack[] = "example.com/rack";

class TopologyTest : public ::testing::Test {
 protected:
  TopologyTest() {
    input_.has_all_pods = true;
    input_.may_name = [](const std::string& space) { return space == "team-a"; };
    api::Topology racks;
    racks.meta.name = "racks";
    racks.levels = {kRack, api::kHostnameLabel};
    input_.topologies.push_back(racks);
    for (const auto& [name, rack] : {std::pair("n1", "r1"), {"n2", "r1"}, {"n3", "r2"}}) {
      AddNode(name, {{kRack, rack}});
    }
  }
  api::Node& AddNode(const std::string& name, api::StringMap labels) {
    api::Node node;
    node.meta.name = name;
    node.meta.labels = std::move(labels);
    node.meta.labels.emplace(api::kHostnameLabel, name);
    node.allocatable = {{kGpuItems, 8}, {"memory", 1 << 30}};
    node.conditions.push_back({.type = "Ready", .status = api::ConditionStatus::kTrue});
    nodes_.push_back(std::make_shared<api::Node>(std::move(node)));
    input_.nodes.emplace_back(nodes_.back());
    return *nodes_.back();
  }
  void AddPod(const std::string& space, const std::string& job, const std::string& node,
              api::Amount gpus, const char* kind = "Job") {
    api::Pod pod;
    pod.meta.namespace_name = space;
    pod.meta.name = job + "-" + std::to_string(input_.pods.size());
    pod.meta.owner_references.push_back({.kind = kind, .name = job, .controller = true});
    pod.spec.node_name = node;
    pod.spec.containers.push_back({.name = "c", .requests = {{kGpuItems, gpus}}});
    pod.phase = "Running";
    input_.pods.push_back(std::make_shared<api::Pod>(std::move(pod)));
  }
  std::shared_ptr<api::Workload> AddGang(const std::string& space, const std::string& name,
                                         std::int32_t count, const char* level) {
    auto workload = std::make_shared<api::Workload>();
    workload->meta.namespace_name = space;
    workload->meta.name = "job-" + name;
    workload->meta.owner_references.push_back({.kind = "Job", .name = name, .controller = true});
    api::PodSet pods;
    pods.count = count;
    if (level != nullptr) pods.topology_request = api::TopologyRequest{.required = level};
    pods.pod_template.spec.containers.push_back({.name = "c", .requests = {{kGpuItems, 8}}});
    workload->spec.pod_sets = {pods};
    input_.workloads.push_back(workload);
    return workload;
  }
  Json Node(const Json& screen, const std::string& name) {
    for (const Json& node : screen.at("nodes")) {
      if (node.at("name") == name) return node;
    }
    return nullptr;
  }

  std::vector<std::shared_ptr<api::Node>> nodes_;
  TopologyInput input_;
};

// Room alone does not start a gang: the reason of its wait says what else there is.
TEST_F(TopologyTest, GangShowsTheReasonOfItsWait) {
  const auto gang = AddGang("team-a", "gang", 2, kRack);
  gang->status.conditions.push_back(
      {.type = api::kQuotaReserved,
       .status = api::ConditionStatus::kFalse,
       .reason = api::kMisconfigured,
       .message = "Flavor \"any\" does not support TopologyAwareScheduling"});
  const Json told = TopologyJson(input_).at("gangs").at(0);
  EXPECT_EQ(told.at("fits"), true);
  EXPECT_EQ(told.at("cause"), "misconfigured");
  EXPECT_THAT(told.at("remark").get<std::string>(),
              HasSubstr("does not support TopologyAwareScheduling"));
}

TEST_F(TopologyTest, CountsGangsThatAreLeftOut) {
  for (std::size_t i = 0; i < kMostGangs + 3; ++i) {
    AddGang("team-a", "gang-" + std::to_string(i), 2, kRack);
  }
  const Json screen = TopologyJson(input_);
  EXPECT_EQ(screen.at("gangs").size(), kMostGangs);
  EXPECT_EQ(screen.at("gangsLeftOut"), 3);
}

TEST_F(TopologyTest, ShowsPodsAndFreeAmountsOfEachNode) {
  AddPod("team-a", "mine", "n1", 6);
  AddPod("team-b", "secret", "n1", 1);
  AddPod("kube-system", "agent", "n3", 1, "DaemonSet");
  AddGang("team-a", "mine", 1, nullptr)
      ->status.conditions.push_back(
          {.type = api::kAdmitted, .status = api::ConditionStatus::kTrue});
  const Json screen = TopologyJson(input_);
  const Json node = Node(screen, "n1");
  EXPECT_EQ(node.at("domain"), Json({"r1", "n1"}));
  EXPECT_EQ(node.at("workloads"),
            Json::array({{{"id", "team-a/job-mine"}, {"name", "team-a/mine"}, {"pods", 1}}}));
  EXPECT_EQ(node.at("others"), 1);
  EXPECT_EQ(node.at("resources").at(1).at("used"), 7);
  const Json free = screen.at("topologies").at(0).at("free");
  ASSERT_EQ(free.size(), 1U) << "memory is not counted: " << free;
  EXPECT_EQ(free.at(0).at("free"), 1 + 8 + 7);
  EXPECT_EQ(free.at(0).at("onWholeNodes"), 8 + 7) << "an agent stands on every node";
  EXPECT_EQ(free.at(0).at("largest").at(0), Json({{"level", kRack}, {"amount", 9}}));
  EXPECT_THAT(screen.dump(), Not(HasSubstr("secret")));
  EXPECT_THAT(screen.dump(), Not(HasSubstr("team-b")));
}

TEST_F(TopologyTest, ShowsDomainsThatFitAGang) {
  AddGang("team-a", "wide", 3, kRack);
  AddGang("team-a", "pair", 2, kRack);
  AddGang("team-a", "anywhere", 3, nullptr);
  AddGang("team-b", "secret", 2, kRack);
  const Json gangs = TopologyJson(input_).at("gangs");
  ASSERT_EQ(gangs.size(), 3U) << gangs;
  const auto gang = [&gangs](const char* name) {
    for (const Json& each : gangs) {
      if (each.at("name") == name) return each;
    }
    return Json();
  };
  EXPECT_EQ(gang("team-a/wide").at("fits"), false);
  EXPECT_EQ(gang("team-a/wide").at("domains").at(0),
            Json({{"topology", "racks"}, {"domain", {"r1"}}, {"pods", 2}}));
  EXPECT_EQ(gang("team-a/pair").at("fits"), true);
  EXPECT_EQ(gang("team-a/anywhere").at("fits"), true);
  EXPECT_EQ(gang("team-a/anywhere").at("mode"), "anywhere");
}

TEST_F(TopologyTest, UnreadyAndCordonedNodesHaveNoRoom) {
  nodes_[0]->conditions.clear();
  nodes_[1]->unschedulable = true;
  AddGang("team-a", "pair", 2, kRack);
  const Json screen = TopologyJson(input_);
  EXPECT_EQ(screen.at("gangs").at(0).at("domains").at(0).at("domain"), Json({"r2"}));
  EXPECT_EQ(screen.at("gangs").at(0).at("fits"), false);
  EXPECT_EQ(screen.at("topologies").at(0).at("free").at(0).at("free"), 8);
}

TEST_F(TopologyTest, TopologyAssignmentsCountWherePodsAreHidden) {
  input_.has_all_pods = false;
  AddNode("lonely", {});
  for (const char* space : {"team-a", "team-b"}) {
    const auto workload = AddGang(space, std::string(space) + "-run", 2, kRack);
    workload->status.conditions.push_back(
        {.type = api::kAdmitted, .status = api::ConditionStatus::kTrue});
    api::PodSetAssignment assigned;
    assigned.count = 2;
    assigned.resource_usage = {{kGpuItems, 8}};
    assigned.topology_assignment =
        api::TopologyAssignment{.levels = {api::kHostnameLabel}, .domains = {{{"n2"}, 1}}};
    workload->status.admission = api::Admission{.cluster_queue = "q"};
    workload->status.admission->pod_set_assignments.push_back(assigned);
  }
  const Json screen = TopologyJson(input_);
  const Json node = Node(screen, "n2");
  EXPECT_EQ(node.at("resources").at(1).at("used"), 8);
  EXPECT_EQ(node.at("workloads").size(), 1U);
  EXPECT_EQ(node.at("others"), 1);
  EXPECT_THAT(screen.dump(), Not(HasSubstr("team-b")));
  EXPECT_EQ(Node(screen, "lonely").at("topology"), nullptr);
  EXPECT_EQ(screen.at("topologies").size(), 2U);
}

// The name of n4 is the hostname of two other nodes.
TEST_F(TopologyTest, AssignmentsCountAtTheNodesOfTheirHostname) {
  input_.has_all_pods = false;
  AddNode("n4", {{kRack, "r3"}, {api::kHostnameLabel, "another"}});
  AddNode("machine-a", {{kRack, "r3"}, {api::kHostnameLabel, "n4"}});
  AddNode("machine-b", {{kRack, "r3"}, {api::kHostnameLabel, "n4"}});
  const auto workload = AddGang("team-a", "run", 3, kRack);
  workload->status.conditions.push_back(
      {.type = api::kAdmitted, .status = api::ConditionStatus::kTrue});
  api::PodSetAssignment assigned;
  assigned.count = 3;
  assigned.resource_usage = {{kGpuItems, 6}};
  assigned.topology_assignment =
      api::TopologyAssignment{.levels = {api::kHostnameLabel}, .domains = {{{"n4"}, 3}}};
  workload->status.admission = api::Admission{.cluster_queue = "q"};
  workload->status.admission->pod_set_assignments.push_back(assigned);
  const Json screen = TopologyJson(input_);
  const auto used = [&](const char* node) {
    return Node(screen, node).at("resources").at(1).at("used").get<int>();
  };
  EXPECT_EQ(used("n4"), 0);
  EXPECT_EQ(used("machine-a"), 4);
  EXPECT_EQ(used("machine-b"), 2);
  EXPECT_EQ(Node(screen, "machine-a").at("domain"), Json({"r3", "n4"}));
}

TEST_F(TopologyTest, ANodeWithoutTheLabelOfALevelIsInNoTopology) {
  AddNode("bare", {{kRack, "r3"}}).meta.labels.erase(api::kHostnameLabel);
  EXPECT_EQ(Node(TopologyJson(input_), "bare").at("topology"), nullptr);
}

}  // namespace
}  // namespace berth::view

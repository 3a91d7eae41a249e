// Goal: which NodePools may host a pod, and the cause that is reported for a pod that waits.
// Method: tables over objects of Karpenter made here.
#include "provisioning/node_supply.h"

#include <functional>

#include <gtest/gtest.h>

namespace berth::provisioning {
namespace {

using api::ConditionStatus;

api::KarpenterNodePool G4() {
  api::KarpenterNodePool pool;
  pool.meta.name = "g4";
  pool.labels = {{"team", "ml"}};
  pool.requirements = {{"karpenter.sh/capacity-type", "In", {"on-demand"}}};
  pool.taints = {{"nvidia.com/gpu", "true", "NoSchedule"}};
  return pool;
}

api::PodSpec Wants() {
  api::PodSpec spec;
  spec.tolerations = {{.key = "nvidia.com/gpu", .op = "Exists"}};
  api::Container container;
  container.requests = {{"cpu", 3000}};
  spec.containers = {container};
  return spec;
}

TEST(NodeSupplyTest, LabelsRequirementsAndTaintsDecideWhatAPoolMayHost) {
  struct HostRow {
    const char* name;
    std::function<void(api::PodSpec&)> edit;
    bool may;
  };
  const auto required = [](api::PodSpec& spec, const char* key, std::vector<std::string> values) {
    spec.required_node_affinity = {{.match_expressions = {{key, "In", std::move(values)}}}};
  };
  const HostRow rows[] = {
      {"plain", [](auto&) {}, true},
      {"no toleration", [](auto& spec) { spec.tolerations.clear(); }, false},
      {"its label",
       [](auto& spec) {
         spec.node_selector = {{"team", "ml"}};
       },
       true},
      {"another value",
       [](auto& spec) {
         spec.node_selector = {{"team", "web"}};
       },
       false},
      {"a label that nobody sets",
       [](auto& spec) {
         spec.node_selector = {{"row", "1"}};
       },
       false},
      {"a label of the provider",
       [](auto& spec) {
         spec.node_selector = {{"topology.kubernetes.io/zone", "a"}};
       },
       true},
      {"its name",
       [](auto& spec) {
         spec.node_selector = {{"karpenter.sh/nodepool", "g4"}};
       },
       true},
      {"another name",
       [](auto& spec) {
         spec.node_selector = {{"karpenter.sh/nodepool", "g5"}};
       },
       false},
      {"its requirement",
       [](auto& spec) {
         spec.node_selector = {{"karpenter.sh/capacity-type", "on-demand"}};
       },
       true},
      {"outside its requirement",
       [](auto& spec) {
         spec.node_selector = {{"karpenter.sh/capacity-type", "spot"}};
       },
       false},
      {"affinity within",
       [&](auto& spec) {
         required(spec, "team", {"web", "ml"});
       },
       true},
      {"affinity outside", [&](auto& spec) { required(spec, "team", {"web"}); }, false},
  };
  for (const HostRow& row : rows) {
    api::PodSpec spec = Wants();
    row.edit(spec);
    EXPECT_EQ(MayHost(G4(), spec), row.may) << row.name;
  }
}

struct SupplyWorld {
  std::vector<api::KarpenterNodePool> pools{G4()};
  std::vector<api::KarpenterNodeClaim> claims;
  api::Pod pod;
  SupplyWorld() { pod.spec = Wants(); }

  NodeSupply Supply() const {
    NodeSupply supply;
    for (const auto& pool : pools) supply.pools.push_back(&pool);
    for (const auto& claim : claims) supply.claims.push_back(&claim);
    return supply;
  }
  void AddClaim(const std::string& name, std::vector<api::Condition> conditions) {
    api::KarpenterNodeClaim claim;
    claim.meta.name = name;
    claim.meta.labels = {{"karpenter.sh/nodepool", "g4"}};
    claim.conditions = std::move(conditions);
    claims.push_back(std::move(claim));
  }
};

TEST(NodeSupplyTest, ReportsTheCauseOfAWait) {
  struct CauseRow {
    std::function<void(SupplyWorld&)> edit;
    const char* reason;
    const char* message;
  };
  const auto limit = [](SupplyWorld& w) {
    w.pools[0].limits = {{"cpu", 4000}};
    w.pools[0].used = {{"cpu", 4000}};
  };
  const auto unlaunched = [](const char* reason, const char* message) {
    return api::Condition{.type = "Launched", .reason = reason, .message = message};
  };
  const api::Condition launched{.type = "Launched", .status = ConditionStatus::kTrue};
  const api::Condition registered{.type = "Registered", .status = ConditionStatus::kTrue};
  const CauseRow rows[] = {
      {[](auto&) {}, kNoNodesReason, "no node has come"},
      {[](auto& w) { w.pools.clear(); }, kNoNodesReason, "no node has come"},
      {limit, kPoolLimitReason, "NodePool g4 has reached its limit: cpu 4 of 4"},
      {[](auto& w) {
         w.pools[0].limits = {{"cpu", 7000}}, w.pools[0].used = {{"cpu", 4000}};
       },
       kNoNodesReason, "no node has come"},
      {[](auto& w) {
         w.pools[0].limits = {{"nodes", 0}};
       },
       kPoolLimitReason, "NodePool g4 has reached its limit: nodes 0 of 0"},
      {[&](auto& w) { limit(w), w.pools.push_back(G4()), w.pools[1].meta.name = "more"; },
       kNoNodesReason, "no node has come"},
      {[&](auto& w) { w.AddClaim("c1", {launched}); }, kNodesBootReason,
       "NodeClaim c1 waits for its node"},
      {[&](auto& w) {
         w.AddClaim("c1", {launched, registered});
       },
       kNodesBootReason, "NodeClaim c1: its node starts"},
      {[&](auto& w) { w.AddClaim("c1", {unlaunched("AwaitingReconciliation", "")}); },
       kNodesBootReason, "NodeClaim c1 waits for its node"},
      {[&](auto& w) {
         w.AddClaim("c1", {launched});
         w.AddClaim("c2", {unlaunched("InsufficientCapacityError", "none in zone a")});
       },
       kNoCapacityReason,
       "NodeClaim c2 is not launched (InsufficientCapacityError): none in zone a"},
      {[&](auto& w) { w.AddClaim("c1", {unlaunched("LaunchFailed", "no subnet")}); },
       kNotLaunchedReason, "NodeClaim c1 is not launched (LaunchFailed): no subnet"},
      {[](auto& w) {
         w.pools[0].conditions = {{"Ready", ConditionStatus::kFalse, "NodeClassNotReady", "why"}};
       },
       kPoolNotReadyReason, "NodePool g4 is not ready (NodeClassNotReady): why"},
      {[](auto& w) {
         w.pod.spec.node_selector = {{"karpenter.sh/nodepool", "gone"}};
       },
       kNoPoolReason, "there is no NodePool gone"},
  };
  for (const CauseRow& row : rows) {
    SupplyWorld world;
    row.edit(world);
    const WaitCause cause = CauseOfWait(world.pod, world.Supply(), WallTime{});
    EXPECT_EQ(cause.reason, row.reason);
    EXPECT_EQ(cause.message, row.message);
  }
}

TEST(NodeSupplyTest, EventsOfAutoscalersAreTheCause) {
  const WallTime now{std::chrono::seconds(1000)};
  struct EventRow {
    api::ToldEvent event;
    const char* reason;
    const char* message;
  };
  const EventRow rows[] = {
      {{"p", "NotTriggerScaleUp", "cluster-autoscaler", "1 max node group size reached", now},
       kNoPoolFitsReason,
       "1 max node group size reached"},
      {{"p", "FailedScaleUp", "cluster-autoscaler", "GCE out of resources", now},
       kFailedScaleUpReason,
       "GCE out of resources"},
      {{"p", "FailedScheduling", "karpenter", "all available instance types exceed limits", now},
       kPoolLimitReason,
       "Karpenter: all available instance types exceed limits"},
      {{"p", "FailedScheduling", "karpenter", "no instance type satisfied", now},
       kNoPoolFitsReason,
       "Karpenter: no instance type satisfied"},
      {{"p", "FailedScheduling", "default-scheduler", "0/1 nodes", now},
       kNoNodesReason,
       "no node has come"},
      {{"g4-x1", "InsufficientCapacityError", "karpenter", "no g4dn.xlarge", now},
       kNoCapacityReason,
       "NodeClaim g4-x1: no g4dn.xlarge"},
      {{"other-x1", "InsufficientCapacityError", "karpenter", "none", now},
       kNoNodesReason,
       "no node has come"},
  };
  for (const EventRow& row : rows) {
    SupplyWorld world;
    NodeSupply supply = world.Supply();
    supply.told = {row.event};
    const WaitCause cause = CauseOfWait(world.pod, supply, now);
    EXPECT_EQ(cause.reason, row.reason);
    EXPECT_EQ(cause.message, row.message);
    supply.told.push_back(rows[0].event);
    supply.told.back().at += std::chrono::seconds(1);
    EXPECT_EQ(CauseOfWait(world.pod, supply, now).reason, kNoPoolFitsReason) << "the newest";
    supply.told.back().at -= std::chrono::seconds(2);
    EXPECT_EQ(CauseOfWait(world.pod, supply, now).reason,
              std::string(row.reason) == kNoNodesReason ? kNoPoolFitsReason : row.reason);
  }
}

TEST(NodeSupplyTest, FindsThePoolThatExpiresFirstDuringTheRun) {
  SupplyWorld world;
  EXPECT_EQ(ExpiresBefore(world.pod.spec, 7200, world.Supply()), nullptr) << "Never";
  world.pools[0].expire_after = std::chrono::hours(2);
  EXPECT_EQ(ExpiresBefore(world.pod.spec, 7200, world.Supply()), nullptr);
  ASSERT_NE(ExpiresBefore(world.pod.spec, 7201, world.Supply()), nullptr);
  world.pools.push_back(G4());
  world.pools[1].meta.name = "sooner";
  world.pools[1].expire_after = std::chrono::hours(1);
  EXPECT_EQ(ExpiresBefore(world.pod.spec, 7201, world.Supply())->meta.name, "sooner");
  world.pod.spec.tolerations.clear();
  EXPECT_EQ(ExpiresBefore(world.pod.spec, 7201, world.Supply()), nullptr);
}

TEST(NodeSupplyTest, BudgetThatKeepsEmptyNodesIsTheCauseOfAReachedLimit) {
  SupplyWorld world;
  world.pools[0].limits = {{"cpu", 4000}};
  world.pools[0].used = {{"cpu", 4000}};
  world.pools[0].budgets = {{.nodes = "0"}};
  const WaitCause cause = CauseOfWait(world.pod, world.Supply(), WallTime{});
  EXPECT_EQ(cause.reason, kNodesKeptReason);
  EXPECT_EQ(cause.message,
            "NodePool g4 has reached its limit: cpu 4 of 4; its disruption budget (0 nodes) allows "
            "no removal of empty nodes");
  world.pools[0].budgets = {{.nodes = "0", .causes = {"Underutilized"}}};
  EXPECT_EQ(CauseOfWait(world.pod, world.Supply(), WallTime{}).reason, kPoolLimitReason);
}

TEST(NodeSupplyTest, OnlyAPoolThatMayHostThePodsMovesThem) {
  SupplyWorld world;
  ASSERT_NE(MovesPods(world.pod.spec, world.Supply(), WallTime{}), nullptr);
  world.pod.spec.tolerations.clear();
  EXPECT_EQ(MovesPods(world.pod.spec, world.Supply(), WallTime{}), nullptr);
}

}  // namespace
}  // namespace berth::provisioning

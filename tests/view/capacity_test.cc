// Goal: `berth capacity`, and what `berth why` tells of policies. Method: exact screens of the
// small cluster of view_builder.h.
#include "view/screens/capacity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/codec/provisioning_policy.h"
#include "api/labels.h"
#include "checks/controller_names.h"
#include "tests/view/view_builder.h"
#include "view/screens/pending_capacity.h"
#include "view/screens/reason.h"
#include "view/screens/why.h"

namespace berth::view {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

api::StockOutcome Outcome(const std::string& id, std::int64_t ago, std::int64_t wait,
                          api::StockResult result) {
  return {.id = id, .asked_at = SecondsAgo(ago), .wait_seconds = wait, .pods = 8, .result = result};
}

ClusterView WithStock() {
  ClusterView view = DwsView();
  view.node_pools.pop_back();
  view.provisioning_requests.front().meta.annotations[api::kProvisioningStepAnnotation] = "flex";
  using enum api::StockResult;
  view.stock = {{api::kQueuedProvisioningClass,
                 {{.key = {.flavor = "flex", .shape = "nvidia.com/gpu=8", .size = 1},
                   .strikes = 2,
                   .rest_until = SecondsAgo(-1800),
                   .reason = "ResourcePoolExhausted",
                   .outcomes = {Outcome("a", 100, 3000, kGranted), Outcome("b", 90, 60, kTimeout)}},
                  {.key = {.flavor = "spot", .zone = "b", .shape = "nvidia.com/gpu=8", .size = 5},
                   .rest_until = SecondsAgo(60),
                   .outcomes = {Outcome("c", 2 * kDay, 10, kGranted)}}}}};
  return view;
}

TEST(CapacityScreen, ShowsRequestsPoolsAndStock) {
  EXPECT_EQ(
      RenderCapacity(WithStock(), {}),
      R"(CAPACITY REQUESTS                        CLASS                       STEP  STATE      AGE  FOR
default/job-h100-train-5c1f2-dws-prov-1  queued-provisioning.gke.io  flex  Accepted  3d2h  default/h100-train

POOL             MACHINE        GPU     NODES   STOCK  USED BY
dws-t4-nodepool  n1-standard-2  1 × T4  0 of 1      1  -

STOCK OF CLASS              FLAVOR  ZONE  PODS  SHAPE             GRANTED IN 24H  MEDIAN WAIT  RESTS
queued-provisioning.gke.io  flex    any      1  nvidia.com/gpu=8  1 of 2                  50m  until 2026-11-20T08:42:00Z (30m), ResourcePoolExhausted
queued-provisioning.gke.io  spot    b     5-16  nvidia.com/gpu=8  0 of 0                    -  -
)");
}

// An owner reference may name any UID: the Workload of another namespace is not named.
TEST(CapacityScreen, RequestNamesNoWorkloadOfAnotherNamespace) {
  ClusterView view = WithStock();
  for (api::Workload& each : view.workloads) each.meta.namespace_name = "secret";
  EXPECT_THAT(RenderCapacity(view, {}), ::testing::Not(HasSubstr("secret")));
  EXPECT_THAT(CapacityScreenJson(view).dump(), ::testing::Not(HasSubstr("secret")));
}

TEST(CapacityScreen, DistinguishesMissingStockMemoryFromHiddenStockMemory) {
  ClusterView view = DwsView();
  EXPECT_THAT(RenderCapacity(view, {}), HasSubstr("only a ProvisioningPolicy fills it"));
  view.hidden = {"configmaps"};
  const std::string screen = RenderCapacity(view, {});
  EXPECT_THAT(screen, HasSubstr("hidden (no right to list them): configmaps"));
  EXPECT_THAT(screen, testing::Not(HasSubstr("nothing is remembered")));
}

TEST(CapacityScreen, JsonHasThePoolsTheirStockAndTheirRequests) {
  ClusterView view = WithStock();
  view.node_pools = {{.name = "t4", .machine_type = "n1-standard-2"},
                     {.name = "h100",
                      .machine_type = "a3-highgpu-8g",
                      .max_nodes = 9,
                      .stock = 0,
                      .node_count = 1,
                      .total_stock = 4,
                      .stock_by_zone = {{"us-a", 0}, {"us-b", 1}}}};
  const nlohmann::json out = CapacityScreenJson(view);
  EXPECT_TRUE(out["nodePools"][0]["totalStock"].is_null());
  EXPECT_EQ(out["nodePools"][1],
            nlohmann::json::parse(R"({"name": "h100", "machineType": "a3-highgpu-8g", "nodes": 1,
              "maxNodes": 9, "stock": 0, "totalStock": 4, "stockByZone": [
              {"zone": "us-a", "totalStock": 0}, {"zone": "us-b", "totalStock": 1}]})"));
  EXPECT_EQ(out["requests"][0]["policyStep"], "flex");
  EXPECT_EQ(out["requests"][0]["ageSeconds"], 3 * kDay + 7200);
  EXPECT_EQ(out["stock"][0],
            nlohmann::json::parse(R"({"class": "queued-provisioning.gke.io", "flavor": "flex",
              "zone": "", "shape": "nvidia.com/gpu=8", "leastPods": 1, "askedInADay": 2,
              "grantedInADay": 1, "medianWaitSeconds": 3000, "failuresInARow": 2,
              "restsUntil": "2026-11-20T08:42:00Z", "reason": "ResourcePoolExhausted"})"));
  EXPECT_TRUE(out["stock"][1]["restsUntil"].is_null());
}

// The names of the job and of the first check are parts of the request's name.
TEST(CapacityScreen, RequestIsThatOfTheCheckThatMadeIt) {
  ClusterView view = DwsView();
  api::Workload& workload = view.workloads.front();
  api::AdmissionCheckState budget{.name = "prov", .state = api::CheckState::kPending};
  budget.message = "no budget";
  workload.status.admission_checks.insert(workload.status.admission_checks.begin(), budget);
  EXPECT_EQ(WaitingReason(view, workload, {}).Line(), "check prov: no budget");
  std::vector<std::string> steps;
  const auto story = TellStory(view, "default", "job/h100-train", {});
  ASSERT_TRUE(story.has_value());
  for (const Step& step : story->steps) steps.push_back(step.name);
  EXPECT_THAT(steps, IsSupersetOf({"check prov", "capacity"}));
}

TEST(CapacityScreen, ShowsJobsThatWaitForNodesAndKarpenterPools) {
  ClusterView view = DwsView();
  view.provisioning_requests.clear();
  view.node_pools.clear();
  api::AdmissionCheck check;
  check.meta.name = "dws-prov";
  check.controller_name = checks::kReactiveCheckController;
  view.admission_checks = {check};
  api::AdmissionCheckState& state = view.workloads.front().status.admission_checks.front();
  state.state = api::CheckState::kReady;
  state.message = "pods wait for nodes (NodePoolLimitReached): NodePool g4 has reached its limit";
  api::KarpenterNodePool pool{.meta = {.name = "g4"}};
  pool.limits = {{"cpu", 8000}, {"nodes", 4}};
  pool.used = {{"cpu", 4000}, {"nodes", 2}};
  pool.conditions = {FalseCondition("Ready", "NodeClassNotReady", "", ViewTime())};
  view.karpenter_pools = {pool};
  EXPECT_THAT(RenderCapacity(view, {}), HasSubstr(R"(
WAITS FOR NODES     CHECK     FLAVOR          STATE      AGE  MESSAGE
default/h100-train  dws-prov  default-flavor  PodsWait  3d2h  pods wait for nodes (NodePoolLimitReached): NodePool g4 has reached its limit

NODEPOOL OF KARPENTER  NODES  USED OF LIMITS            READY
g4                         2  cpu 4 of 8, nodes 2 of 4  no (NodeClassNotReady)
)"));
  EXPECT_EQ(PendingCapacityJson(view)[0]["state"], "PodsWait");
  EXPECT_EQ(KarpenterPoolsJson(view)[0], nlohmann::json::parse(R"({"name": "g4", "ready": false,
      "limits": {"cpu": "8", "nodes": "4"}, "used": {"cpu": "4", "nodes": "2"}})"));
  state.message = "the pods may start: nodes come for pending pods";
  EXPECT_TRUE(RenderPendingCapacity(view, {}).empty());
}

const Step* CapacityStep(const Story& story) {
  for (const Step& step : story.steps) {
    if (step.name == "capacity" || step.name == "check dws-prov") return &step;
  }
  return nullptr;
}

TEST(WhyWithAPolicy, ReportsAttemptsOfStepsAndWhoCanAct) {
  ClusterView view = WithStock();
  api::Workload& workload = view.workloads.front();
  api::MemoryByCheck memory;
  api::ProvisioningMemory& known = memory["dws-prov"];
  known.steps["spot"] = {.attempts = 2, .waited_seconds = 600};
  known.outcomes = {{"spot", "QuotaExceeded", SecondsAgo(7000)},
                    {"spot", "WaitLimitReached", SecondsAgo(3600)}};
  known.race_waste = {.node_seconds = 600, .nano_dollars = 600'000'000};
  workload.meta.annotations = {{api::kProvisioningMemoryAnnotation, api::EncodeMemory(memory)},
                               {api::kAvoidedFlavorsAnnotation, "spot"},
                               {api::kExpiresAtAnnotation, "2026-11-20T09:00:00Z"}};
  const auto story = TellStory(view, "default", "job/h100-train", {});
  ASSERT_TRUE(story.has_value());
  const Step* step = CapacityStep(*story);
  ASSERT_NE(step, nullptr);
  for (const char* line :
       {"asked for by step flex of the policy",
        "ResourcePoolExhausted (stockout), only the cloud can act: wait: the request keeps its "
        "place until the machine is there",
        "step spot: 2 requests in vain, waited 10m",
        "2026-11-20T06:15:20Z step spot: QuotaExceeded (quota), an administrator can act: ask the "
        "cloud for more quota, or use less at once",
        "2026-11-20T07:12:00Z step spot: WaitLimitReached (timeout), nobody needs to act: nothing "
        "to do: the next step is tried",
        "flavors that are passed over: spot",
        "surplus nodes, of requests that lost a race: about 10m of a node, 0.6 USD",
        "the cloud takes the capacity back at 2026-11-20T09:00:00Z"}) {
    EXPECT_THAT(step->lines, Contains(line));
  }
  const nlohmann::json out = StoryJson(*story)["steps"][2];
  EXPECT_EQ(out["capacity"]["policyStep"], "flex");
  EXPECT_EQ(out["capacity"]["advice"]["who"], "cloud");
  EXPECT_EQ(out["tried"][0]["advice"]["reason"], "QuotaExceeded");
  EXPECT_EQ(out["tried"][1]["at"], "2026-11-20T07:12:00Z");
}

TEST(WhyWithAPolicy, ReportsStepsThatMayNotRequestCapacity) {
  ClusterView view = DwsView();
  view.provisioning_requests.clear();
  view.workloads.front().status.admission_checks.front().message =
      "No step may request capacity: step spot (OutOfStockRecently): rests until "
      "2026-11-20T08:42:00Z after 1 "
      "failure, the last ResourcePoolExhausted";
  const auto story = TellStory(view, "default", "job/h100-train", {});
  ASSERT_TRUE(story.has_value());
  EXPECT_THAT(CapacityStep(*story)->lines,
              Contains(StartsWith("No step may request capacity: step spot")));
  EXPECT_THAT(CapacityStep(*story)->lines,
              Contains("OutOfStockRecently (stockout), nobody needs to act: nothing to do: the "
                       "step requests capacity again when its rest ends"));
}

}  // namespace
}  // namespace berth::view

// Goal: `--cost` shows what runs, with the price of the step that asked for the nodes or else of
// the flavor. Method: small clusters, exact figures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "tests/view/view_builder.h"
#include "view/screens/capacity.h"
#include "view/screens/cost_screen.h"
#include "view/screens/list.h"
#include "view/screens/status.h"

namespace berth::view {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kDollar = 1'000'000'000;

class CostTest : public ::testing::Test {
 protected:
  CostTest() {
    view_.now = ViewTime();
    view_.cluster_queues = {MakeQueue("team", "", {{kGpu, 8}}, {{kGpu, 4}})};
    view_.local_queues = {MakeLocalQueue("default", "q", "team")};
    api::ResourceFlavor flavor;
    flavor.meta.name = "t4";
    flavor.meta.annotations[api::kPricePerHourAnnotation] = "0.5";
    view_.flavors = {flavor};
    api::Workload workload = MakeRunning("default", "train", "team", {{kGpu, 4}});
    workload.status.admission->pod_set_assignments[0].count = 4;
    api::PodSet pods;
    pods.count = 4;
    api::Container container;
    container.requests = {{kGpu, 1}};
    pods.pod_template.spec.containers = {container};
    workload.spec.pod_sets = {pods};
    view_.workloads = {workload};
  }
  // A step of two-GPU nodes at 3 USD asked for the nodes, which came half an hour ago.
  void AskInStep() {
    api::AdmissionCheck check;
    check.meta.name = "capacity";
    check.meta.annotations[api::kProvisioningPolicyAnnotation] = "chain";
    check.parameters = {"kueue.x-k8s.io", "ProvisioningRequestConfig", "config"};
    view_.admission_checks = {check};
    api::ProvisioningRequestConfig config;
    config.meta.name = "config";
    config.managed_resources = {kGpu};
    view_.provisioning_configs = {config};
    api::ProvisioningPolicy policy;
    policy.meta.name = "chain";
    policy.steps = {{.name = "spot",
                     .pool = api::ProvisioningPool{"p", 4, {{kGpu, 2}}},
                     .price_per_hour = *api::Quantity::Parse("3")}};
    view_.provisioning_policies = {policy};
    api::Workload& workload = view_.workloads.front();
    workload.status.admission_checks = {{.name = "capacity"}};
    api::ProvisioningRequest request;
    request.meta.namespace_name = "default";
    request.meta.annotations[api::kProvisioningStepAnnotation] = "spot";
    request.meta.owner_references = {
        {"kueue.x-k8s.io/v1beta2", "Workload", workload.meta.name, workload.meta.uid, true, true}};
    request.conditions = {TrueCondition("Provisioned", "Provisioned", "", SecondsAgo(1800))};
    view_.provisioning_requests = {request};
  }

  ClusterView view_;
};

TEST_F(CostTest, RateIsThePriceOfTheFlavorForEachPod) {
  const auto cost = CostOfRun(view_, view_.workloads.front());
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->rate, 2 * kDollar);
  EXPECT_EQ(cost->so_far, 2 * kDollar * 60 / 3600);  // admitted a minute ago
}

TEST_F(CostTest, RateIsThePriceOfTheStepForEachNode) {
  AskInStep();
  const auto cost = CostOfRun(view_, view_.workloads.front());
  EXPECT_EQ(cost, (RunCost{.rate = 6 * kDollar, .so_far = 3 * kDollar}));
}

TEST_F(CostTest, MeasuredCostReplacesTheExpectedCost) {
  AskInStep();
  const api::Workload& workload = view_.workloads.front();
  api::QueueMeters meters;
  const auto put = [&](const std::string& node, const std::string& of, std::int64_t begin,
                       std::int64_t end, bool open) {
    meters.meters[provisioning::MeterId(node, of)] = {.node = node,
                                                      .from = SecondsAgo(begin),
                                                      .until = SecondsAgo(end),
                                                      .hourly_nano = 3 * kDollar,
                                                      .open = open};
  };
  put("stands", workload.meta.uid, 3600, 60, true);
  put("earlier", workload.meta.uid, 7200, 5400, false);
  put("unwritten", workload.meta.uid, 4200, 3600, true);  // for an hour
  put("other", "another", 9000, 60, true);
  view_.meters = {{"default/" + workload.spec.queue_name, meters}};
  // An hour, half an hour, ten minutes.
  EXPECT_EQ(CostOfRun(view_, workload),
            (RunCost{.rate = 3 * kDollar, .so_far = 5 * kDollar, .is_measured = true}));
  EXPECT_EQ(ListJson(view_, {.cost = true})["items"][0]["cost"]["measured"], true);
  const std::vector<MeasuredQueue> queues = MeasuredQueues(view_);
  ASSERT_EQ(queues.size(), 1U);
  EXPECT_EQ(queues[0].nodes.open, 2);
  EXPECT_EQ(queues[0].nodes.seconds, 3600 + 1800 + 600 + 9000);
  const std::string screen = RenderCapacity(view_, {});
  EXPECT_THAT(screen, HasSubstr("USD SO FAR"));
  EXPECT_THAT(screen, HasSubstr("NODE HOURS IN 7D"));
  EXPECT_EQ(CapacityScreenJson(view_)["cost"][0]["nodes"], 2);
}

TEST_F(CostTest, RunWithoutAPriceHasNoCost) {
  view_.flavors.clear();
  EXPECT_EQ(CostOfRun(view_, view_.workloads.front()), std::nullopt);
  EXPECT_EQ(CostByQueue(view_).at("team").unpriced, 1);
  EXPECT_TRUE(RunCostJson(std::nullopt).is_null());
}

TEST_F(CostTest, WaitingJobHasNoCost) {
  view_.workloads.front().status.conditions.clear();
  EXPECT_EQ(CostOfRun(view_, view_.workloads.front()), std::nullopt);
  EXPECT_TRUE(CostByQueue(view_).empty());
}

TEST_F(CostTest, ScreensShowCostsOnlyOnRequest) {
  AskInStep();
  EXPECT_THAT(*RenderList(view_, {}, {}), Not(HasSubstr("USD")));
  EXPECT_THAT(*RenderList(view_, {.cost = true}, {}), HasSubstr("USD/HOUR"));
  const nlohmann::json item = ListJson(view_, {.cost = true})["items"][0];
  EXPECT_EQ(item["cost"], nlohmann::json::parse(R"({"usdPerHour": "6", "usd": "3"})"));
  EXPECT_THAT(RenderStatus(view_, {}, {}), Not(HasSubstr("USD")));
  EXPECT_THAT(RenderStatus(view_, {.cost = true}, {}), HasSubstr("USD SO FAR"));
  const nlohmann::json queue = StatusJson(view_, {.cost = true})["clusterQueues"][0];
  EXPECT_EQ(queue["cost"]["usdPerHour"], "6");
  EXPECT_EQ(queue["cost"]["withoutPrice"], 0);
  EXPECT_FALSE(StatusJson(view_, {})["clusterQueues"][0].contains("cost"));
}

TEST(ShortDollarsTest, ShowsTwoDecimalsOrTheFirstSignificantOne) {
  EXPECT_EQ(ShortDollars(12'345'600'000), "12.35");
  EXPECT_EQ(ShortDollars(4'000'000), "0.004");
  EXPECT_EQ(ShortDollars(kDollar), "1");
  EXPECT_EQ(ShortDollars(0), "0");
}

}  // namespace
}  // namespace berth::view

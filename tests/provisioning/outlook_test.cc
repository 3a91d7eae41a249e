// Goal: the outlook names the step that asks first, each step that is passed over with its reason,
// and what each costs. Method: a chain of three steps, and a job that meets it.
#include "provisioning/outlook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/labels.h"

namespace berth::provisioning {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr char kGpu[] = "nvidia.com/gpu";

api::Quantity Usd(const char* text) { return *api::Quantity::Parse(text); }

class OutlookTest : public ::testing::Test {
 protected:
  OutlookTest() {
    config_.provisioning_class_name = api::kQueuedProvisioningClass;
    config_.managed_resources = {kGpu};
    queue_.meta.name = "team";
    api::ResourceGroup group{.covered_resources = {"cpu", kGpu}};
    for (const char* flavor : {"spot", "flex", "demand"}) {
      group.flavors.push_back(
          {flavor,
           {{.resource = "cpu", .nominal_quota = 64000}, {.resource = kGpu, .nominal_quota = 8}}});
    }
    queue_.spec.resource_groups = {group};
    policy_.steps = {
        {.name = "spot",
         .flavor = "spot",
         .max_wait_seconds = 600,
         .max_attempts = 3,
         .pool = api::ProvisioningPool{"p-spot", 4, {{kGpu, 2}}},
         .price_per_hour = Usd("1.5")},
        {.name = "flex", .flavor = "flex", .price_per_hour = Usd("2")},
        {.name = "demand",
         .flavor = "demand",
         .provisioning_class_name = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"}};
    flavors_["demand"].meta.annotations[api::kPricePerHourAnnotation] = "4";
    SetPods(4);
    workload_.spec.maximum_execution_time_seconds = 7200;
  }
  void SetPods(std::int32_t count) {
    api::PodSet pods;
    pods.count = count;
    api::Container container;
    container.requests = {{"cpu", 1000}, {kGpu, 1}};
    pods.pod_template.spec.containers = {container};
    workload_.spec.pod_sets = {pods};
  }
  std::vector<StepOutlook> Outlook() const {
    return OutlookOf({.workload = workload_,
                      .cluster_queue = queue_,
                      .rule = rule_,
                      .config = config_,
                      .policy = policy_,
                      .flavors = flavors_,
                      .stock = stock_,
                      .now = WallTime(seconds(1'700'000'000))});
  }
  static std::string FirstOf(const std::vector<StepOutlook>& steps) {
    std::string first;
    for (const StepOutlook& step : steps) {
      if (step.asks_first) first += step.step;
    }
    return first;
  }

  api::Workload workload_;
  api::ClusterQueue queue_;
  api::AdmissionCheckRule rule_{.check = "capacity"};
  api::ProvisioningRequestConfig config_;
  api::ProvisioningPolicy policy_;
  FlavorsByName flavors_;
  StockMemory stock_;
};

TEST_F(OutlookTest, ReportsStepsWithPricesAndLimits) {
  const auto steps = Outlook();
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(FirstOf(steps), "spot");
  EXPECT_EQ(steps[0].nodes, 2);
  EXPECT_EQ(steps[0].nano_dollars_rate, 3'000'000'000);
  EXPECT_EQ(steps[0].cost->nano_dollars, 6'000'000'000);
  EXPECT_EQ(steps[0].max_wait_seconds, 600);
  EXPECT_EQ(steps[0].max_attempts, 3);
  EXPECT_EQ(steps[1].nodes, 4);
  EXPECT_EQ(steps[1].max_attempts, 4);  // the config's three retries
  EXPECT_EQ(steps[2].nano_dollars_rate, 16'000'000'000);
  EXPECT_EQ(steps[2].provisioning_class, "best-effort-atomic-scale-up.autoscaling.x-k8s.io");
  for (const StepOutlook& step : steps) EXPECT_FALSE(step.veto) << step.step;
}

TEST_F(OutlookTest, APriceLimitPassesStepsOver) {
  policy_.max_price_per_hour = Usd("1.8");
  policy_.steps[0].max_price_per_hour = Usd("1");
  policy_.steps[2].max_price_per_hour = Usd("5");
  const auto steps = Outlook();
  EXPECT_EQ(FirstOf(steps), "demand");
  EXPECT_THAT(steps[0].veto->message, HasSubstr("a node costs 1.5 USD an hour, the limit is 1"));
  EXPECT_THAT(steps[1].veto->message, HasSubstr("the limit is 1.8"));
}

TEST_F(OutlookTest, VetoesAStepBeyondTheQueuesQuota) {
  SetPods(9);
  policy_.steps[0].pool->max_nodes = 9;
  queue_.spec.resource_groups[0].flavors[2].resources[1].nominal_quota = 16;
  const auto steps = Outlook();
  EXPECT_EQ(FirstOf(steps), "demand");
  EXPECT_EQ(steps[0].veto->reason, kNoQuotaReason);
  EXPECT_EQ(steps[0].veto->message,
            "asks for 9 nvidia.com/gpu, ClusterQueue team can give at most 8 in flavor spot");
  queue_.spec.cohort_name = "org";  // others may lend
  EXPECT_EQ(FirstOf(Outlook()), "spot");
}

TEST_F(OutlookTest, VetoesAFlavorThatTheQueueOrTheCheckLacks) {
  policy_.steps[0].flavor = "other";
  rule_.on_flavors = {"demand", "other"};
  const auto steps = Outlook();
  EXPECT_EQ(FirstOf(steps), "demand");
  EXPECT_EQ(steps[0].veto->message, "ClusterQueue team has no quota in flavor other");
  EXPECT_EQ(steps[1].veto->message, "check capacity is not for flavor flex of ClusterQueue team");
}

TEST_F(OutlookTest, VetoesAPoolThatIsTooSmall) {
  SetPods(8);
  policy_.steps[0].pool->max_nodes = 3;
  EXPECT_EQ(Outlook()[0].veto->message, "needs 4 nodes, pool p-spot has at most 3");
  EXPECT_EQ(FirstOf(Outlook()), "flex");
}

TEST_F(OutlookTest, AWorkloadThatNeedsNoRequest) {
  workload_.spec.pod_sets[0].pod_template.spec.containers[0].requests = {{"cpu", 1000}};
  EXPECT_TRUE(Outlook().empty());
}

TEST_F(OutlookTest, WithoutAPolicyTheConfigIsTheOnlyStep) {
  policy_ = {};
  const auto steps = Outlook();
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].step, "config");
  EXPECT_TRUE(steps[0].asks_first);
  EXPECT_EQ(steps[0].eta.basis, Eta::Basis::kPrior);
}

}  // namespace
}  // namespace berth::provisioning

// Goal: the rules of policies can be broken, and a proper life breaks none. Method: histories are
// written into a store by hand; the world only gives the time.
#include <gtest/gtest.h>

#include "base/rfc3339.h"
#include "tests/faults/play_rules.h"
#include "tests/faults/policy_play.h"

namespace berth::sim {
namespace {

class PolicyRulesTest : public PlayRulesTest {
 protected:
  PolicyRulesTest() {
    Let(std::make_unique<PolicyPlay>(*world_, invariants_));
    PutPolicy("4");
    PutWorkload("w", "j", "1", false, "Pending");
  }
  // A policy of one step, which costs 3 USD an hour and waits for a minute.
  void PutPolicy(const std::string& limit) {
    const Json step{{"name", "spot"}, {"pricePerHour", "3"}, {"maxWaitSeconds", 60}};
    Put("provisioningpolicies.provisioning.berth.dev", "", "chain",
        {{"spec", {{"maxPricePerHour", limit}, {"steps", Json::array({step})}}}});
  }
  void PutPolicyWith(const Json& more) {
    Json spec{{"steps", Json::array({{{"name", "spot"}, {"pricePerHour", "3"}}})}};
    spec.update(more);
    Put("provisioningpolicies.provisioning.berth.dev", "", "chain", {{"spec", std::move(spec)}});
    now_ += std::chrono::seconds(3);
  }
  void PutLeasedNode() {
    Put("nodes", "", "n",
        {{"metadata",
          {{"labels", {{"berth.dev/lease", "0123456789abcdef"}}},
           {"annotations", {{"berth.dev/lease-of", "default/w"}}}}}});
  }
  // For pods of the pod set. True `divided`: the job is asked for in parts.
  void PutPart(const std::string& attempt, const std::string& pods, bool granted, bool divided) {
    const std::string name = "w-gate-" + attempt;
    Json annotations{{"berth.dev/provisioning-step", "spot"}};
    if (divided) annotations["berth.dev/divided"] = "4";
    Put("provisioningrequests.autoscaling.x-k8s.io", "default", name,
        {{"metadata",
          {{"creationTimestamp", FormatTime(world_->clock().Now() - std::chrono::seconds(70))},
           {"annotations", annotations},
           {"ownerReferences", Json::array({{{"kind", "Workload"},
                                             {"name", "w"},
                                             {"uid", "uid-of-w"},
                                             {"controller", true}}})}}},
         {"spec",
          {{"podSets",
            Json::array(
                {{{"count", 1}, {"podTemplateRef", {{"name", "ppt-" + name + "-" + pods}}}}})}}},
         {"status", {{"conditions", Json::array({Condition("Provisioned", granted)})}}}});
  }
  void PutRequest(const std::string& attempt, bool granted, Duration age = {}) {
    Put("provisioningrequests.autoscaling.x-k8s.io", "default", "w-gate-" + attempt,
        {{"metadata",
          {{"creationTimestamp", FormatTime(world_->clock().Now() - age)},
           {"annotations", {{"berth.dev/provisioning-step", "spot"}, {"berth.dev/race", "1"}}},
           {"ownerReferences", Json::array({{{"kind", "Workload"},
                                             {"name", "w"},
                                             {"uid", "uid-of-w"},
                                             {"controller", true}}})}}},
         {"spec", {{"podSets", Json::array({{{"count", 2}}})}}},
         {"status", {{"conditions", Json::array({Condition("Provisioned", granted)})}}}});
  }
};

TEST_F(PolicyRulesTest, AllowAGrantedRequestOfAReadyCheck) {
  PutRequest("1", false, std::chrono::seconds(50));
  PutRequest("1", true, std::chrono::seconds(70));
  PutWorkload("w", "j", "1", true, "Ready");
  EXPECT_EQ(Broken(), "");
  EXPECT_EQ(Found(), "");
}

TEST_F(PolicyRulesTest, DetectARequestAboveThePriceLimit) {
  PutPolicy("2");
  PutRequest("1", false);
  EXPECT_EQ(Broken(), "");  // the new limit may not be known yet
  Delete("provisioningrequests.autoscaling.x-k8s.io", "default", "w-gate-1");
  now_ += std::chrono::seconds(3);
  PutRequest("2", false);
  EXPECT_EQ(Broken(), "dearer-than-limit");
}

TEST_F(PolicyRulesTest, DetectTwoRequestsOfOneCheckWithCapacity) {
  PutRequest("1", true);
  EXPECT_EQ(Found(), "");
  PutRequest("2", true);
  EXPECT_EQ(Found(), "two-winners");
}

TEST_F(PolicyRulesTest, DetectAWaitingRequestBesideAReadyCheck) {
  PutRequest("1", false);
  PutRequest("2", true);
  EXPECT_EQ(Found(), "");
  PutWorkload("w", "j", "1", true, "Ready");
  EXPECT_EQ(Found(), "loser-left");
}

TEST_F(PolicyRulesTest, DetectMoreRequestsThanTheRaceAllows) {
  PutPolicyWith({{"race", {{"width", 2}}}});
  PutRequest("1", false);
  PutRequest("2", false);
  EXPECT_EQ(Broken(), "");
  PutRequest("3", false);
  EXPECT_EQ(Broken(), "race-too-wide");
}

// Two nodes at 3 USD for 3000 s cost 5 USD.
TEST_F(PolicyRulesTest, DetectARequestAboveTheDailyBudget) {
  PutPolicyWith({{"budget", {{"perLocalQueueUSDPerDay", "10"}}}});
  PutRequest("1", true);
  Delete("provisioningrequests.autoscaling.x-k8s.io", "default", "w-gate-1");
  PutRequest("2", false);
  Delete("provisioningrequests.autoscaling.x-k8s.io", "default", "w-gate-2");
  PutRequest("3", false);
  EXPECT_EQ(Broken(), "");  // the second brought no nodes
  PutPolicyWith({{"budget", {{"perLocalQueueUSDPerDay", "14"}}}, {"race", {{"width", 2}}}});
  PutRequest("4", false);
  EXPECT_EQ(Broken(), "over-budget");
}

TEST_F(PolicyRulesTest, DetectARequestAboveTheWorkloadsBudget) {
  const Json day{{"perLocalQueueUSDPerDay", "100"}, {"perWorkloadUSD", "5"}};
  PutPolicyWith({{"budget", day}});
  PutRequest("1", true);
  EXPECT_EQ(Broken(), "");
  PutPolicyWith({{"budget", {{"perLocalQueueUSDPerDay", "100"}, {"perWorkloadUSD", "4"}}}});
  PutRequest("2", true);
  EXPECT_EQ(Broken(), "over-budget");
}

TEST_F(PolicyRulesTest, DetectALeaseOfADeletedWorkload) {
  PutWorkload("w", "j", "1", true, "Ready");
  PutLeasedNode();
  EXPECT_EQ(Found(), "");
  Delete("workloads.kueue.x-k8s.io", "default", "w");
  EXPECT_EQ(Found(), "lease-left");
}

TEST_F(PolicyRulesTest, CompareOnlyRequestsForTheSamePods) {
  PutPart("1", "near", true, /*divided=*/false);
  PutPart("2", "far", true, /*divided=*/false);
  PutWorkload("w", "j", "1", true, "Ready");
  EXPECT_EQ(Broken(), "");
  EXPECT_EQ(Found(), "");
  PutPart("3", "far", true, /*divided=*/false);
  EXPECT_EQ(Broken(), "request-twice");
  EXPECT_EQ(Found(), "two-winners");
}

TEST_F(PolicyRulesTest, DetectARequestForAPartBeforeTheOneBeforeIt) {
  PutPart("1", "main", true, /*divided=*/true);
  PutPart("2", "main", false, /*divided=*/true);
  PutWorkload("w", "j", "1", true, "Ready");
  EXPECT_EQ(Broken(), "");
  EXPECT_EQ(Found(), "") << "a later part may wait";
  PutPart("3", "main", false, /*divided=*/true);
  EXPECT_EQ(Broken(), "race-too-wide");
}

TEST_F(PolicyRulesTest, DetectAPlaceholderOfAWorkloadWithoutQuota) {
  PutWorkload("w", "j", "1", true, "Pending");
  Put("pods", "default", "holder",
      {{"metadata",
        {{"annotations", {{"berth.dev/placeholder-of", "w"}}},
         {"ownerReferences", Json::array({{{"kind", "Workload"},
                                           {"name", "w"},
                                           {"uid", "uid-of-w"},
                                           {"controller", true}}})}}}});
  EXPECT_EQ(Found(), "");
  PutWorkload("w", "j", "", true, "Pending");
  EXPECT_EQ(Found(), "placeholder-left");
  Delete("pods", "default", "holder");
  EXPECT_EQ(Found(), "");
}

TEST_F(PolicyRulesTest, DetectAStandingNodeWithoutAPrewarmPolicy) {
  PutPolicyWith({{"prewarm", {{"namespace", "default"}, {"localQueue", "q"}}}});
  Put("nodes", "", "n", {{"metadata", {{"annotations", {{"berth.dev/prewarm", "chain"}}}}}});
  EXPECT_EQ(Found(), "");
  PutPolicyWith(Json::object());
  EXPECT_EQ(Found(), "node-kept");
}

TEST_F(PolicyRulesTest, DetectARequestThatWaitsPastItsLimit) {
  PutRequest("1", false, std::chrono::seconds(59));
  EXPECT_EQ(Found(), "");
  PutRequest("1", false, std::chrono::seconds(62));
  EXPECT_EQ(Found(), "waits-past-limit");
}

}  // namespace
}  // namespace berth::sim

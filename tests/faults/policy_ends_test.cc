// Goal: the rules of how a policy ends attempts can be broken, and a proper life breaks none.
// Method: histories are written into a store by hand; the world only gives the time.
#include "tests/faults/policy_ends.h"

#include <gtest/gtest.h>

#include "base/rfc3339.h"
#include "tests/faults/play_rules.h"

namespace berth::sim {
namespace {

using std::chrono::seconds;

constexpr char kHeldMessage[] = "No step is left after step demand: no capacity within 30 s";

class PolicyEndsTest : public PlayRulesTest {
 protected:
  PolicyEndsTest() { Let(std::make_unique<PolicyEnds>(*world_, invariants_)); }

  void PutPolicy(const Json& spec) {
    Put("provisioningpolicies.provisioning.berth.dev", "", "chain", {{"spec", spec}});
    now_ += seconds(5);
  }
  // The Workload w with quota, whose check gave this answer `age` ago.
  void PutAnswer(const std::string& state, const std::string& message, Duration age = {},
                 const std::string& last_failure = "") {
    PutWorkload("w", "j", "1", state == "Ready");
    Json workload = *store_->GetLatest({kWorkloads, "default", "w"})->json();
    workload["status"]["admissionChecks"] =
        Json::array({{{"name", "chain"},
                      {"state", state},
                      {"message", message},
                      {"lastTransitionTime", FormatTime(world_->clock().Now() - age)}}});
    if (!last_failure.empty()) {
      const Json memory{{"chain", {{"outcomes", Json::array({{{"reason", last_failure}}})}}}};
      workload["metadata"]["annotations"]["berth.dev/provisioning"] = memory.dump();
    }
    Put(kWorkloads, "default", "w", std::move(workload));
  }
  // A request for the Workload w whose nodes came `age` ago, for 180 s.
  void PutRequest(const std::string& attempt, Duration age) {
    Json came = Condition("Provisioned", true);
    came["lastTransitionTime"] = FormatTime(world_->clock().Now() - age);
    Put("provisioningrequests.autoscaling.x-k8s.io", "default", "w-chain-" + attempt,
        {{"metadata",
          {{"ownerReferences", Json::array({{{"kind", "Workload"},
                                             {"name", "w"},
                                             {"uid", "uid-of-w"},
                                             {"controller", true}}})}}},
         {"spec", {{"parameters", {{"maxRunDurationSeconds", "180"}}}}},
         {"status", {{"conditions", Json::array({came})}}}});
  }
  void PutWaitingPod(Duration age, const std::string& node = "") {
    Put("pods", "default", "p",
        {{"metadata",
          {{"creationTimestamp", FormatTime(world_->clock().Now() - age)},
           {"annotations", {{"autoscaling.x-k8s.io/consume-provisioning-request", "w-chain-1"}}}}},
         {"spec", {{"nodeName", node}}},
         {"status", {{"phase", "Pending"}}}});
  }
};

TEST_F(PolicyEndsTest, DetectsARequestOfAHeldWorkload) {
  PutPolicy({{"whenExhausted", "Hold"}});
  PutRequest("1", seconds(0));
  PutAnswer("Pending", kHeldMessage);
  EXPECT_EQ(Broken(), "");
  Delete("provisioningrequests.autoscaling.x-k8s.io", "default", "w-chain-1");
  PutRequest("2", seconds(0));
  EXPECT_EQ(Broken(), "asks-though-held");
}

TEST_F(PolicyEndsTest, AllowsARequestOfAHeldWorkloadAfterAnEdit) {
  PutPolicy({{"whenExhausted", "Hold"}});
  PutAnswer("Pending", kHeldMessage);
  PutPolicy({{"whenExhausted", "Cycle"}});
  PutRequest("1", seconds(0));
  PutAnswer("Retry", "Retrying after failure: …");
  EXPECT_EQ(Broken(), "");
}

TEST_F(PolicyEndsTest, AllowsARequestOfAWorkloadHeldJustAfterAnEdit) {
  PutPolicy({{"whenExhausted", "Cycle"}});
  Put("provisioningpolicies.provisioning.berth.dev", "", "chain",
      {{"spec", {{"whenExhausted", "Hold"}}}});
  now_ += seconds(1);
  PutAnswer("Pending", kHeldMessage);
  PutRequest("1", seconds(0));
  EXPECT_EQ(Broken(), "");
}

TEST_F(PolicyEndsTest, DetectsAHeldWorkloadThatReleasesItsQuota) {
  PutPolicy({{"whenExhausted", "Hold"}});
  PutAnswer("Pending", kHeldMessage);
  PutAnswer("Retry", "Retrying after failure: …");
  EXPECT_EQ(Broken(), "leaves-though-held");
}

TEST_F(PolicyEndsTest, DetectsARejectionThatThePolicyDoesNotAllow) {
  PutPolicy({{"rejectHumanCauses", true}});
  PutAnswer("Rejected", kHeldMessage);
  EXPECT_EQ(Broken(), "");
  PutAnswer("Pending", "");
  PutPolicy({{"rejectHumanCauses", false}});
  PutAnswer("Rejected", kHeldMessage);
  EXPECT_EQ(Broken(), "rejected-unasked");
}

TEST_F(PolicyEndsTest, DetectsAHumanCauseThatIsNotRejected) {
  PutPolicy({{"rejectHumanCauses", true}});
  PutAnswer("Retry", kHeldMessage, {}, "ResourcePoolExhausted");
  EXPECT_EQ(Broken(), "");
  PutAnswer("Pending", "");
  PutAnswer("Retry", kHeldMessage, {}, "NoQueuedNodepoolAvailable");
  EXPECT_EQ(Broken(), "not-rejected");
}

TEST_F(PolicyEndsTest, DetectsANodeThatBootsLongerThanItsTimeout) {
  PutPolicy({{"bootTimeoutSeconds", 60}});
  PutRequest("1", seconds(100));
  PutAnswer("Ready", "", seconds(100));
  PutWaitingPod(seconds(50));
  EXPECT_EQ(Found(), "") << "the pod is younger";
  PutWaitingPod(seconds(70));
  EXPECT_EQ(Found(), "boots-too-long");
  PutWaitingPod(seconds(70), "n");
  EXPECT_EQ(Found(), "");
}

TEST_F(PolicyEndsTest, DetectsAWorkloadThatIsNotEvictedBeforeTheEndOfItsRun) {
  PutPolicy({{"evictBeforeSeconds", 60}});
  PutAnswer("Ready", "", seconds(130));
  PutRequest("1", seconds(110));
  EXPECT_EQ(Found(), "");
  PutRequest("1", seconds(130));
  EXPECT_EQ(Found(), "stays-to-the-end");
  PutRequest("1", seconds(190));
  EXPECT_EQ(Found(), "") << "the cloud has ended it";
}

}  // namespace
}  // namespace berth::sim

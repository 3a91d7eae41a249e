// Goal: pods that find no node after their capacity came, and nodes that go while pods need them,
// are noticed in time, emitted once with what stands in the way, and end in a new attempt.
// Method: tables of pods and nodes; a World whose pods the test makes.
#include "provisioning/late_pods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provisioning/policy_steps.h"
#include "tests/provisioning/world.h"

namespace berth::provisioning {
namespace {

using api::CheckState;
using std::chrono::seconds;
using testing::Cluster;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::World;

constexpr char kRequest[] = "job-sample-job-e80e2-dws-prov-1";

// Pods, and the nodes that they are bound to.
struct Crowd {
  api::Pod& Add(const std::string& name, const std::string& node, WallTime made) {
    api::Pod& pod = pods[name];
    pod.meta.namespace_name = "default";
    pod.meta.name = name;
    pod.meta.creation_timestamp = made;
    pod.meta.annotations[api::kConsumeProvisioningRequestAnnotation] = kRequest;
    pod.spec.node_name = node;
    return pod;
  }
  api::Node& AddNode(const std::string& name) {
    api::Node& node = nodes[name];
    node.meta.name = name;
    node.conditions = {{.type = "Ready", .status = testing::kTrue}};
    return node;
  }
  PodsSeen See() const {
    PodsSeen seen;
    for (const auto& [name, pod] : pods) {
      seen.pods.push_back(&pod);
      if (pod.spec.node_name.empty()) continue;
      const auto node = nodes.find(pod.spec.node_name);
      seen.nodes[pod.spec.node_name] = node == nodes.end() ? nullptr : &node->second;
    }
    for (const auto& pod : foreign) seen.foreign.push_back(&pod);
    return seen;
  }
  std::map<std::string, api::Pod> pods;
  std::map<std::string, api::Node> nodes;
  std::vector<api::Pod> foreign;
};

class LatePodsTest : public ::testing::Test {
 protected:
  LatePodsTest() {
    world_.policy.emplace();
    world_.policy->late_pod_seconds = 480;
    world_.policy->on_lost = api::ProvisioningPolicy::OnTrouble::kRequeue;
    world_.Settle();
    world_.Provision();
    world_.Settle();
    world_.Admit();
  }
  void Settle() {
    world_.seen_pods = crowd_.See();
    world_.Settle();
  }
  api::Pod& AddPod(const std::string& name, const std::string& node = "") {
    return crowd_.Add(name, node, world_.now);
  }
  std::size_t Told() const {
    return static_cast<std::size_t>(
        std::count_if(world_.events.begin(), world_.events.end(),
                      [](const std::string& each) { return each.find("Warning PodsLate") == 0; }));
  }

  Crowd crowd_;
  World world_;
};

TEST_F(LatePodsTest, EmitsOneEventWithTheReasonAndForeignPods) {
  crowd_.AddNode("n1");
  AddPod("a", "n1");
  api::Pod& late = AddPod("b");
  late.conditions = {{.type = "PodScheduled",
                      .status = api::ConditionStatus::kFalse,
                      .message = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."}};
  api::Pod intruder;
  intruder.meta.namespace_name = "other";
  intruder.meta.name = "miner";
  intruder.spec.node_name = "n2";
  crowd_.foreign = {intruder};
  Settle();
  EXPECT_EQ(world_.last.next_wake, seconds(480));
  world_.Pass(479);
  Settle();
  EXPECT_EQ(Told(), 0U);
  world_.Pass(1);
  Settle();
  EXPECT_THAT(world_.events,
              Contains("Warning PodsLate: dws-prov: 1 of 2 pods have no node after 480 s: 0/1 "
                       "nodes are available: 1 Insufficient nvidia.com/gpu.; pods of others are on "
                       "its nodes: other/miner on n2"));
  world_.Pass(60);
  Settle();
  EXPECT_EQ(Told(), 1U);
  EXPECT_EQ(world_.check().state, CheckState::kReady) << "the booking goes on";
}

TEST_F(LatePodsTest, ExpiredBookingWithLatePodsRetriesTheCheck) {
  AddPod("a");
  world_.Pass(600);
  Settle();
  world_.Answer("BookingExpired", testing::kTrue, "BookingExpired", "over");
  Settle();
  EXPECT_EQ(world_.check().state, CheckState::kRetry);
  EXPECT_THAT(world_.check().message, HasSubstr("1 of 1 pod has no node after 480 s"));
  EXPECT_EQ(world_.memory.at("dws-prov").outcomes.back().reason, kLatePodsReason);
}

TEST_F(LatePodsTest, BootTimeoutRetriesTheCheckBeforeTheBookingExpires) {
  world_.policy->boot_timeout_seconds = 300;
  crowd_.AddNode("n1");
  AddPod("a", "n1");
  AddPod("b");
  Settle();
  EXPECT_EQ(world_.last.next_wake, seconds(300));
  world_.Pass(299);
  Settle();
  EXPECT_EQ(world_.check().state, CheckState::kReady);
  world_.Pass(1);
  Settle();
  EXPECT_EQ(world_.check().state, CheckState::kRetry);
  EXPECT_THAT(world_.check().message, HasSubstr("1 of 2 pods have no node after 300 s"));
  EXPECT_EQ(world_.memory.at("dws-prov").outcomes.back().reason, kBootTimeoutReason);
  EXPECT_EQ(Told(), 0U) << "nobody is late any more";
}

TEST_F(LatePodsTest, PolicyWaitKeepsTheCheckReady) {
  world_.policy->on_late = api::ProvisioningPolicy::OnTrouble::kWait;
  AddPod("a");
  world_.Pass(600);
  Settle();
  world_.Answer("BookingExpired", testing::kTrue, "BookingExpired", "over");
  Settle();
  EXPECT_EQ(world_.check().state, CheckState::kReady);
  EXPECT_EQ(Told(), 1U);
}

TEST_F(LatePodsTest, LaterPodsHaveTheirOwnTimeout) {
  world_.Pass(1000);
  AddPod("a");
  Settle();
  EXPECT_EQ(world_.last.next_wake, seconds(480));
  EXPECT_EQ(Told(), 0U);
}

TEST_F(LatePodsTest, PodsOfAnEarlierRequestDoNotCount) {
  AddPod("old").meta.annotations[api::kConsumeProvisioningRequestAnnotation] = "earlier";
  world_.Pass(1000);
  Settle();
  EXPECT_EQ(Told(), 0U);
}

TEST_F(LatePodsTest, LostNodeRetriesTheCheckAtOnce) {
  AddPod("a", "gone");
  Settle();
  EXPECT_EQ(world_.check().state, CheckState::kRetry);
  EXPECT_EQ(world_.check().requeue_after_seconds, 0);
  EXPECT_THAT(world_.check().message,
              HasSubstr("1 node that pods need were removed or failed: gone"));
  EXPECT_EQ(world_.memory.at("dws-prov").outcomes.back().reason, kLostNodesReason);
}

TEST_F(LatePodsTest, UnreadyNodeRetriesTheCheckAfterFiveMinutes) {
  AddPod("a", "n1");
  crowd_.AddNode("n1").conditions = {{.type = "Ready",
                                      .status = api::ConditionStatus::kUnknown,
                                      .last_transition_time = world_.now}};
  world_.Pass(299);
  Settle();
  EXPECT_EQ(world_.check().state, CheckState::kReady);
  EXPECT_EQ(world_.last.next_wake, seconds(1));
  world_.Pass(1);
  Settle();
  EXPECT_EQ(world_.check().state, CheckState::kRetry);
}

TEST_F(LatePodsTest, WithoutTheRulesTheCheckStaysReady) {
  world_.policy->on_lost = api::ProvisioningPolicy::OnTrouble::kWait;
  world_.policy->late_pod_seconds = 0;
  AddPod("a", "gone");
  AddPod("b");
  world_.Pass(10'000);
  Settle();
  EXPECT_EQ(world_.check().state, CheckState::kReady);
  EXPECT_EQ(Told(), 0U);
}

TEST_F(LatePodsTest, LostNodesOfALeaseAreNotReusedForAnHour) {
  Cluster cluster;
  World world;
  world.policy.emplace();
  world.policy->reuse = api::ProvisioningReuse{.enabled = true};
  world.cluster = &cluster;
  cluster.Add("n1");
  world.Settle();
  world.Admit();
  ASSERT_EQ(world.check().state, CheckState::kReady);
  Crowd crowd;
  api::Pod& pod = crowd.Add("a", "n1", world.now);
  pod.meta.annotations.clear();
  pod.spec.node_selector = {{api::kLeaseLabel, LeaseHolder("wl-uid", "dws-prov")}};
  world.Pass(1);
  world.seen_pods = crowd.See();
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kRetry);
  EXPECT_THAT(world.check().message, HasSubstr("Retrying on other nodes: 1 node that pods need"));
  world.seen_pods.reset();
  world.Evict();
  world.SetCondition(api::kAdmitted, api::ConditionStatus::kFalse, "NoReservation");
  world.Settle();
  EXPECT_FALSE(LeaseOf(cluster.members.at("n1").node).has_value());
  world.GiveQuota();
  world.Settle();
  EXPECT_EQ(world.requests.size(), 1U) << "another try on idle nodes would lose them again";
}

TEST_F(LatePodsTest, LongListsOfNodesAreCut) {
  for (const char* name : {"a", "b", "c", "d", "e"}) AddPod(name, std::string("node-") + name);
  const Loss loss = LossOf(crowd_.See(), {.request = kRequest}, world_.now);
  EXPECT_EQ(loss.message,
            "5 nodes that pods need were removed or failed: node-a, node-b, node-c and 2 more");
}

}  // namespace
}  // namespace berth::provisioning

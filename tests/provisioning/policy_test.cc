// Goal: the steps of a ProvisioningPolicy: limits of time and attempts, the next step with the same
// and with another flavor, exhaustion, revocation, and the memory across a crash between any two
// writes. Method: the small world of world.h; the test plays the cloud and the queue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provisioning/policy_steps.h"
#include "tests/provisioning/world.h"

namespace berth::provisioning {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Pr;
using testing::World;

// A world with the policy spot (2 attempts) → flex (600 s) → demand, each with its own flavor.
World ChainWorld() {
  World world;
  api::ProvisioningStep spot{.name = "spot", .flavor = "spot"};
  spot.provisioning_class_name = "spot.example.com";
  spot.max_attempts = 2;
  api::ProvisioningStep flex{.name = "flex", .flavor = "flex"};
  flex.max_wait_seconds = 600;
  api::ProvisioningStep demand{.name = "demand", .flavor = "demand"};
  demand.parameters = {{"purchase", "on-demand"}};
  world.policy = api::ProvisioningPolicy{.meta = {.name = "chain"}, .steps = {spot, flex, demand}};
  world.GiveQuota("spot");
  return world;
}

// Plays the queue after Retry; the next admission is with `flavor`.
void Requeue(World& world, const std::string& flavor) {
  ASSERT_EQ(world.check().state, api::CheckState::kRetry) << world.check().message;
  world.Pass(world.check().requeue_after_seconds.value_or(0));
  world.Evict();
  world.Settle();
  EXPECT_THAT(world.requests, IsEmpty());
  world.GiveQuota(flavor);
  world.Settle();
}

TEST(PolicyTest, WaitLimitEndsTheRequestAndIsSentToTheCloud) {
  World world;
  world.policy = api::ProvisioningPolicy{.meta = {.name = "p"}};
  world.policy->max_wait_seconds = 600;
  world.Settle();
  EXPECT_EQ(world.requests.front().parameters.at("ValidUntilSeconds"), "660");
  EXPECT_EQ(world.last.next_wake, std::chrono::seconds(120)) << "the answer is due first";
  world.Answer("Accepted", testing::kTrue, "SuccessfullyQueued", "queued");
  world.Settle();
  EXPECT_EQ(world.last.next_wake, std::chrono::seconds(600));
  world.Pass(599);
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Pr(1)));
  EXPECT_EQ(world.memory_writes, 0) << "waiting writes nothing";
  world.Pass(1);
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kRetry);
  EXPECT_EQ(world.check().message, "No step is left after step config: no capacity within 600 s");
  EXPECT_EQ(world.check().requeue_after_seconds, 1800);
  EXPECT_THAT(world.memory.at("dws-prov").outcomes,
              ElementsAre(api::ProvisioningMemory::Outcome{"config", kTimeoutReason, world.now}));
  Requeue(world, "gpu");
  EXPECT_THAT(world.RequestNames(), ElementsAre(Pr(2))) << "the cycle begins anew";
  EXPECT_EQ(world.requests.front().parameters.at("ValidUntilSeconds"), "660");
}

TEST(PolicyTest, WaitingTimeAddsUpOverTheRequestsOfAStep) {
  World world;
  world.policy = api::ProvisioningPolicy{.meta = {.name = "p"}};
  world.policy->max_wait_seconds = 600;
  world.Settle();
  world.Pass(400);
  world.Fail("ResourcePoolExhausted", "None.");
  world.Settle();
  EXPECT_EQ(world.check().requeue_after_seconds, 60) << "the backoff of the config";
  EXPECT_EQ(world.check().message, "Retrying after step config: None.");
  Requeue(world, "gpu");
  EXPECT_EQ(world.requests.front().parameters.at("ValidUntilSeconds"), "260");
  world.Pass(199);
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kPending);
  world.Pass(1);
  world.Settle();
  EXPECT_THAT(world.check().message, HasSubstr("no capacity within 200 s"));
}

// The annotation of the Workload holds the message of each check.
TEST(PolicyTest, LongMessageOfTheCloudIsCut) {
  World world;
  world.policy = api::ProvisioningPolicy{.meta = {.name = "p"}};
  world.Settle();
  world.Fail("ResourcePoolExhausted", std::string(5000, 'x'));
  world.Settle();
  EXPECT_EQ(world.memory.at("dws-prov").message.size(), 512U);
}

TEST(PolicyTest, NextStepOfTheSameFlavorIsRequestedWithTheHeldQuota) {
  World world;
  api::ProvisioningStep zone_a{.name = "zone-a"};
  zone_a.parameters = {{"zone", "a"}};
  zone_a.max_attempts = 1;
  api::ProvisioningStep zone_b{.name = "zone-b"};
  zone_b.parameters = {{"zone", "b"}};
  world.policy = api::ProvisioningPolicy{.meta = {.name = "p"}, .steps = {zone_a, zone_b}};
  world.Settle();
  EXPECT_EQ(world.requests.front().parameters.at("zone"), "a");
  world.Fail("ResourcePoolExhausted", "None in a.");
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Pr(2)));
  EXPECT_EQ(world.requests.front().parameters.at("zone"), "b");
  EXPECT_EQ(world.check().state, api::CheckState::kPending);
  EXPECT_EQ(world.check().message, "Going on with step zone-b after step zone-a: None in a.");
  EXPECT_EQ(world.check().retry_count.value_or(0), 0) << "the quota was never released";
  world.Provision();
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kReady);
}

TEST(PolicyTest, FailedStepsLeadFromFlavorToFlavor) {
  World world = ChainWorld();
  world.Settle();
  EXPECT_EQ(world.requests.front().provisioning_class_name, "spot.example.com");
  world.Fail("ResourcePoolExhausted", "None.");
  world.Settle();
  EXPECT_EQ(world.check().requeue_after_seconds, 60);
  EXPECT_EQ(world.avoided(), "");
  Requeue(world, "spot");
  world.Fail("ResourcePoolExhausted", "None.");
  world.Settle();
  EXPECT_EQ(world.check().message, "Going on with step flex after step spot: None.");
  EXPECT_EQ(world.check().requeue_after_seconds, 0);
  EXPECT_EQ(world.avoided(), "spot");
  Requeue(world, "flex");
  EXPECT_EQ(world.requests.front().provisioning_class_name, "queued-provisioning.gke.io");
  world.Pass(600);
  world.Settle();
  EXPECT_EQ(world.avoided(), "flex,spot");
  Requeue(world, "demand");
  EXPECT_EQ(world.requests.front().parameters.at("purchase"), "on-demand");
  world.Provision();
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kReady);
}

TEST(PolicyTest, StepWithoutQuotaIsPassedOverAndTriedLater) {
  World world = ChainWorld();
  world.GiveQuota("flex");
  world.Settle();
  EXPECT_EQ(world.requests.front().provisioning_class_name, "queued-provisioning.gke.io");
  world.Pass(600);
  world.Settle();
  EXPECT_EQ(world.check().message,
            "Going on with step spot after step flex: no capacity within 600 s");
  EXPECT_EQ(world.avoided(), "flex");
  Requeue(world, "spot");
  EXPECT_EQ(world.requests.front().provisioning_class_name, "spot.example.com");
}

TEST(PolicyTest, ExhaustedFlavorIsReleasedAtOnce) {
  World world = ChainWorld();
  world.memory["dws-prov"].steps["spot"].attempts = 2;
  world.Settle();
  EXPECT_THAT(world.requests, IsEmpty());
  EXPECT_EQ(world.avoided(), "spot");
  EXPECT_EQ(world.check().message, "Going on with step flex");
  Requeue(world, "demand");
  EXPECT_EQ(world.requests.front().parameters.at("purchase"), "on-demand");
}

TEST(PolicyTest, FlavorWithoutAStepFollowsTheConfig) {
  World world = ChainWorld();
  world.GiveQuota("other");
  world.Settle();
  EXPECT_EQ(world.requests.front().provisioning_class_name, "queued-provisioning.gke.io");
  world.Fail();
  world.Settle();
  EXPECT_EQ(world.check().message, "Retrying after failure: No quota.");
  EXPECT_THAT(world.memory, IsEmpty());
}

TEST(PolicyTest, PermanentFailureEndsAStepAtOnce) {
  World world = ChainWorld();
  world.Settle();
  world.Fail("ZoneNotSupported", "Never there.");
  world.Settle();
  EXPECT_EQ(world.check().message, "Going on with step flex after step spot: Never there.");
  EXPECT_TRUE(world.memory.at("dws-prov").steps.at("spot").over);
}

TEST(PolicyTest, ExhaustedWorkloadIsHeldUntilAnEditAllowsAStep) {
  World world = ChainWorld();
  world.policy->steps.resize(1);
  world.policy->when_exhausted = api::ProvisioningPolicy::WhenExhausted::kHold;
  world.Settle();
  world.Fail("ResourcePoolExhausted", "None.");
  world.Settle();
  Requeue(world, "spot");
  world.Fail("ResourcePoolExhausted", "None.");
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kPending) << "the quota is kept";
  EXPECT_EQ(world.check().message, "No step is left after step spot: None.");
  EXPECT_THAT(world.requests, IsEmpty());
  EXPECT_EQ(world.avoided(), "") << "a preempted workload may come back";
  const int writes = world.memory_writes;
  world.Pass(100'000);
  world.Settle();
  EXPECT_THAT(world.requests, IsEmpty());
  EXPECT_EQ(world.memory_writes, writes);
  world.policy->steps[0].max_attempts = 3;
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Pr(3)));
}

// One of two steps can never hold the pods: it is not used up, and is never asked for.
World HeldBesideAVeto() {
  World world = ChainWorld();
  world.policy->steps.resize(2);
  world.policy->steps[0].pool = {
      .name = "spot-pool", .max_nodes = 1, .node = {{"nvidia.com/gpu", 1}}};
  world.policy->when_exhausted = api::ProvisioningPolicy::WhenExhausted::kHold;
  world.workload.spec.pod_sets.front().count = 2;
  world.GiveQuota("flex");
  world.Settle();
  world.Pass(600);
  world.Settle();
  return world;
}

TEST(PolicyTest, HeldWorkloadRestartsItsStepsWhenThePolicyCycles) {
  using When = api::ProvisioningPolicy::WhenExhausted;
  for (const bool preempted : {false, true}) {
    World world = HeldBesideAVeto();
    EXPECT_EQ(world.check().state, api::CheckState::kPending);
    EXPECT_THAT(world.check().message,
                HasSubstr("No step is left after step flex: no capacity within 600 s"));
    EXPECT_THAT(world.requests, IsEmpty()) << "nothing is paid while the workload is held";
    EXPECT_EQ(world.avoided(), "") << "a preempted workload may come back";
    if (preempted) world.Evict();
    world.policy->when_exhausted = When::kCycle;
    world.Settle();
    if (preempted) {
      EXPECT_EQ(world.avoided(), "");
      world.GiveQuota("flex");
      world.Settle();
    }
    EXPECT_THAT(world.RequestNames(), ElementsAre(Pr(2))) << preempted;
  }
}

TEST(PolicyTest, HumanCauseRejectsAfterTheLastStepIfConfigured) {
  for (const char* reason : {"QuotaExceeded", "ResourcePoolExhausted"}) {
    World world = ChainWorld();
    world.policy->steps.resize(1);
    world.policy->steps[0].max_attempts = 1;
    world.policy->reject_human_causes = true;
    world.Settle();
    world.Fail(reason, "No.");
    world.Settle();
    const bool human = std::string(reason) == "QuotaExceeded";
    EXPECT_EQ(world.check().state, human ? api::CheckState::kRejected : api::CheckState::kRetry)
        << reason;
  }
}

TEST(PolicyTest, ExhaustedWorkloadIsRejectedIfConfigured) {
  World world;
  world.policy = api::ProvisioningPolicy{.meta = {.name = "p"}};
  world.policy->when_exhausted = api::ProvisioningPolicy::WhenExhausted::kReject;
  world.config.backoff_limit_count = 0;
  world.Settle();
  world.Fail();
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kRejected);
  EXPECT_EQ(world.check().message, "No step is left after step config: No quota.");
  EXPECT_THAT(world.memory.at("dws-prov").steps, IsEmpty()) << "reactivated, it begins anew";
}

TEST(PolicyTest, RevokedCapacityCountsAsAnAttemptOfItsStep) {
  World world = ChainWorld();
  world.policy->on_revoked = api::ProvisioningPolicy::OnRevoked::kRequeue;
  for (int run = 1; run <= 2; ++run) {
    world.Settle();
    world.Pass(30);
    world.Provision();
    world.Settle();
    ASSERT_EQ(world.check().state, api::CheckState::kReady);
    world.Admit();
    world.Pass(300);
    world.Answer("CapacityRevoked", testing::kTrue, "CapacityRevoked", "Taken back.");
    world.Settle();
    EXPECT_EQ(world.check().requeue_after_seconds, 0) << "no backoff after a run";
    EXPECT_EQ(world.memory.at("dws-prov").steps.at("spot").waited_seconds, 30 * run);
    world.SetCondition(api::kAdmitted, api::ConditionStatus::kFalse, "Evicted");
    if (run == 1) Requeue(world, "spot");
  }
  EXPECT_EQ(world.avoided(), "spot");
  EXPECT_EQ(world.check().message, "Going on with step flex after step spot: Taken back.");
}

TEST(PolicyTest, RevokedCapacityCountsAgainstLoweredAttempts) {
  World world = ChainWorld();
  world.policy->on_revoked = api::ProvisioningPolicy::OnRevoked::kRequeue;
  world.Settle();
  world.Fail("ResourcePoolExhausted", "None.");
  world.Settle();
  Requeue(world, "spot");
  world.Provision();
  world.Settle();
  ASSERT_EQ(world.check().state, api::CheckState::kReady);
  world.Admit();
  world.policy->steps.front().max_attempts = 1;
  world.Answer("CapacityRevoked", testing::kTrue, "CapacityRevoked", "Taken back.");
  world.Settle();
  EXPECT_EQ(world.check().message, "Going on with step flex after step spot: Taken back.");
  EXPECT_EQ(world.memory.at("dws-prov").steps.at("spot").attempts, 2);
  EXPECT_EQ(world.avoided(), "spot");
}

TEST(PolicyTest, WithoutThePolicyTheMemoryAvoidsNothing) {
  World world = ChainWorld();
  world.memory["dws-prov"].steps["spot"].attempts = 2;
  world.Settle();
  EXPECT_EQ(world.avoided(), "spot");
  world.policy.reset();
  world.Settle();
  EXPECT_EQ(world.avoided(), "");
}

// The queue evicts between the memory and the check's state, or a crash loses the second write: the
// outcome is counted once.
TEST(PolicyTest, FailureIsCountedOnceThoughItsRequestLingers) {
  World world = ChainWorld();
  world.Settle();
  world.Fail("ResourcePoolExhausted", "None.");
  const Decision first = Decide(world.Observe(), world.options, world.now);
  ASSERT_TRUE(first.memory);
  EXPECT_EQ(Decide(world.Observe(), world.options, world.now).memory->memory, first.memory->memory);
  world.Settle();
  EXPECT_EQ(world.memory.at("dws-prov").steps.at("spot").attempts, 1);
  EXPECT_EQ(world.memory_writes, 1);
  // The request of attempt 1 is still shown after the eviction.
  const auto shown = world.requests;
  world.Evict();
  world.GiveQuota("spot");
  world.requests = shown;
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Pr(2)));
  EXPECT_EQ(world.memory.at("dws-prov").steps.at("spot").attempts, 1);
}

}  // namespace
}  // namespace berth::provisioning

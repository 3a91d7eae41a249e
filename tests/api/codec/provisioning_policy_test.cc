// Goal: ProvisioningPolicy has the CRD's defaults, each field is read, and a wrong field is named;
// a memory reads as written. Method: JSON texts, whole-value comparisons.
#include "api/codec/provisioning_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace berth::api {
namespace {

TEST(ProvisioningPolicyCodec, EmptySpecHasTheDefaultsOfTheCrd) {
  const auto policy = Decode<ProvisioningPolicy>(R"({"metadata":{"name":"p"}})"_json);
  ASSERT_TRUE(policy);
  EXPECT_TRUE(policy->steps.empty());
  EXPECT_EQ(policy->max_wait_seconds, 0);
  EXPECT_EQ(policy->when_exhausted, ProvisioningPolicy::WhenExhausted::kCycle);
  EXPECT_EQ(policy->cycle_after_seconds, 1800);
  EXPECT_EQ(policy->max_in_flight, 8);
  EXPECT_FALSE(policy->race);
  EXPECT_EQ(policy->on_revoked, ProvisioningPolicy::OnRevoked::kReject);
}

TEST(ProvisioningPolicyCodec, EveryFieldIsRead) {
  const auto policy = Decode<ProvisioningPolicy>(R"({"metadata":{"name":"p"},"spec":{
      "steps":[{"name":"s","flavor":"f","provisioningClassName":"c","parameters":{"k":"v"},"zones":["a","b"],
                "maxWaitSeconds":1,"maxAttempts":2,"maxRunSeconds":3600,"minEtaGainSeconds":9}],
      "race":{"width":2,"over":"Steps","staggerSeconds":5,"keepSurplusSeconds":10},"maxInFlight":6,
      "maxWaitSeconds":3,"whenExhausted":"Reject","cycleAfterSeconds":4,"onRevoked":"Requeue",
      "bootTimeoutSeconds":7,"evictBeforeSeconds":8,"rejectHumanCauses":true,
      "runDuration":{"source":"History","maxSeconds":11}}})"_json);
  ASSERT_TRUE(policy) << policy.error().message;
  ASSERT_EQ(policy->steps.size(), 1U);
  const ProvisioningStep& step = policy->steps.front();
  EXPECT_EQ(step.name, "s");
  EXPECT_EQ(step.flavor, "f");
  EXPECT_EQ(step.provisioning_class_name, "c");
  EXPECT_EQ(step.parameters, (StringMap{{"k", "v"}}));
  EXPECT_EQ(step.zones, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(step.max_wait_seconds, 1);
  EXPECT_EQ(step.max_attempts, 2);
  EXPECT_EQ(step.max_run_seconds, 3600);
  EXPECT_EQ(step.min_eta_gain_seconds, 9);
  ASSERT_TRUE(policy->race);
  EXPECT_EQ(policy->race->width, 2);
  EXPECT_EQ(policy->race->over, ProvisioningRace::Over::kSteps);
  EXPECT_EQ(policy->race->stagger_seconds, 5);
  EXPECT_EQ(policy->race->keep_surplus_seconds, 10);
  ASSERT_TRUE(policy->run_duration);
  EXPECT_EQ(policy->run_duration->source, ProvisioningRunDuration::Source::kHistory);
  EXPECT_EQ(policy->run_duration->max_seconds, 11);
  EXPECT_EQ(policy->max_in_flight, 6);
  EXPECT_EQ(policy->max_wait_seconds, 3);
  EXPECT_EQ(policy->when_exhausted, ProvisioningPolicy::WhenExhausted::kReject);
  EXPECT_EQ(policy->cycle_after_seconds, 4);
  EXPECT_EQ(policy->on_revoked, ProvisioningPolicy::OnRevoked::kRequeue);
  EXPECT_EQ(policy->boot_timeout_seconds, 7);
  EXPECT_EQ(policy->evict_before_seconds, 8);
  EXPECT_TRUE(policy->reject_human_causes);
}

TEST(ProvisioningPolicyCodec, AWrongFieldIsNamed) {
  const auto policy = Decode<ProvisioningPolicy>(
      R"({"metadata":{"name":"p"},"spec":{"steps":[{"maxAttempts":"x"}]}})"_json);
  ASSERT_FALSE(policy);
  EXPECT_THAT(policy.error().message, ::testing::HasSubstr("spec.steps[0].maxAttempts"));
}

TEST(ProvisioningMemoryCodec, AMemoryReadsAsWritten) {
  ProvisioningMemory memory;
  memory.steps["spot"] = {.attempts = 2, .waited_seconds = 30, .over = true};
  memory.counted_attempt = 3;
  memory.counted_retries = 1;
  memory.next = ProvisioningMemory::Next::kRetry;
  memory.due = WallTime(std::chrono::seconds(1'700'000'000));
  memory.message = "Going on with step flex";
  memory.outcomes = {{"spot", "ResourcePoolExhausted", memory.due}};
  memory.race_waste = {.node_seconds = 605, .nano_dollars = 605'000'000, .attempts = {2, 3}};
  const MemoryByCheck all{{"dws", memory}, {"other", {}}};
  const auto read = DecodeMemory(EncodeMemory(all));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, all);
}

TEST(ProvisioningMemoryCodec, RejectsTextsThatAreNoMemory) {
  for (const char* bad : {"", "[]", "{", R"({"a":1})", R"({"a":{"next":"Hope"}})",
                          R"({"a":{"steps":{"b":{"attempts":"x"}}}})"}) {
    EXPECT_FALSE(DecodeMemory(bad)) << bad;
  }
}

}  // namespace
}  // namespace berth::api

// Goal: what is remembered of one check stays within 4 KiB of its annotation, whatever the names of
// the steps and the cloud's messages are; steps that a policy has lost are forgotten.
// Method: the chain of steps fails again and again; the encoded memory is measured.
#include <gtest/gtest.h>

#include "api/codec/provisioning_policy.h"
#include "provisioning/policy_steps.h"

namespace berth::provisioning {
namespace {

api::ProvisioningPolicy LongNames(char letter) {
  api::ProvisioningPolicy policy;
  policy.when_exhausted = api::ProvisioningPolicy::WhenExhausted::kHold;  // forgets no step
  for (int at = 0; at < 16; ++at) {
    std::string name(63, letter);
    name[0] = static_cast<char>('a' + at);
    policy.steps.push_back({.name = name, .max_attempts = 2});
  }
  return policy;
}

api::ProvisioningMemory AfterFailures(const api::ProvisioningPolicy& policy,
                                      api::ProvisioningMemory memory, int failures,
                                      const std::string& message) {
  const api::ProvisioningRequestConfig config;
  const std::vector<std::string> flavors{"gpu"};
  const Vetoes vetoes;
  for (int at = 1; at <= failures; ++at) {
    const StepPlan plan(policy, config, memory, flavors, vetoes);
    memory = plan.Count({.attempt = 1'000'000'000 + at,
                         .reason = "ProvisioningRequestNotSchedulableInNodepool",
                         .message = message,
                         .at = WallTime(std::chrono::seconds(1'700'000'000)),
                         .waited_seconds = 31'536'000},
                        1'000'000);
  }
  return memory;
}

std::size_t EncodedBytes(const api::ProvisioningMemory& memory) {
  return api::EncodeMemory({{std::string(63, 'c'), memory}}).size();
}

TEST(MemorySizeTest, SixteenLongNamesStayWithinFourKiB) {
  for (const std::string& message : {std::string(2000, 'm'), std::string(2000, '"'),
                                     std::string(2000, '\x01'), std::string("none")}) {
    // Each failure ends its step.
    api::ProvisioningMemory memory = AfterFailures(LongNames('n'), {}, 16, message);
    EXPECT_EQ(memory.steps.size(), 16U);
    EXPECT_GE(memory.outcomes.size(), 1U);
    memory.race_waste = {.node_seconds = 1'000'000'000,
                         .nano_dollars = 1'000'000'000'000'000,
                         .attempts = std::vector<std::int32_t>(16, 1'000'000'000)};
    EXPECT_LE(EncodedBytes(memory), 4096U) << message.substr(0, 1);
  }
}

TEST(MemorySizeTest, StepsRemovedFromThePolicyAreForgotten) {
  const api::ProvisioningMemory before = AfterFailures(LongNames('n'), {}, 15, "none");
  const api::ProvisioningMemory memory = AfterFailures(LongNames('o'), before, 1, "none");
  EXPECT_EQ(memory.steps.size(), 1U);
}

}  // namespace
}  // namespace berth::provisioning

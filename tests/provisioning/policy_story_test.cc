// Goal: the rules of policies hold for any cloud, queue, administrator and crash: one request at a
// time, limits of waiting and attempts, no request under a veto, one warning for each request.
// Method: 150 random stories of 80 steps; a failing seed is named and replays exactly. A crash
// loses what a process knows beside the objects: the last attempt, and sometimes the stock memory.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/random.h"
#include "provisioning/policy_steps.h"
#include "provisioning/request_names.h"
#include "provisioning/request_state.h"
#include "tests/provisioning/world.h"

namespace berth::provisioning {
namespace {

using testing::World;

constexpr std::int64_t kMaxWait = 600;
constexpr std::int32_t kMaxAttempts = 3;
constexpr int kLongestPause = 200;  // between two looks, in seconds

class PolicyStory {
 public:
  struct Tally {
    int asked = 0;
    int vetoed = 0;
    int learnt = 0;
    int warned = 0;
    int ready = 0;
    std::set<std::string> steps;
  };

  PolicyStory(std::uint64_t seed, Tally& tally) : random_(seed), tally_(tally) {
    world_.stock.emplace();
    world_.job_deadline = 600;
    MakePolicy();
    world_.GiveQuota("spot");
  }

  void Step() {
    world_.Pass(static_cast<int>(random_.Below(kLongestPause)));
    switch (random_.Below(11)) {
      case 0: Answer("Accepted", "SuccessfullyQueued"); break;
      case 1: Answer("Provisioned", "Provisioned"); break;
      case 2: Answer("Failed", "ResourcePoolExhausted"); break;
      case 3: Answer("Failed", "QuotaExceeded"); break;
      case 4: Answer("CapacityRevoked", "CapacityRevoked"); break;
      case 5: Wait(); break;
      case 6: EditPolicy(); break;
      case 7: Crash(); break;
      default: break;
    }
    Queue();
    const std::size_t told = world_.events.size();
    const std::size_t done = world_.log.size();
    world_.Settle();
    Note(told);
    const bool asked =
        std::any_of(world_.log.begin() + static_cast<std::ptrdiff_t>(done), world_.log.end(),
                    [](const std::string& line) { return line.rfind("request ", 0) == 0; });
    Check(asked);
  }

 private:
  void MakePolicy() {
    api::ProvisioningStep spot{.name = "spot", .flavor = "spot"};
    spot.max_wait_seconds = kMaxWait;
    spot.max_attempts = kMaxAttempts;
    spot.price_per_hour = *api::Quantity::Parse("1");
    api::ProvisioningStep flex = spot;
    flex.name = "flex";
    api::ProvisioningStep demand{.name = "demand", .flavor = "demand"};
    demand.max_attempts = kMaxAttempts;
    demand.price_per_hour = *api::Quantity::Parse("4");
    world_.policy = api::ProvisioningPolicy{.meta = {.name = "p"}, .steps = {spot, flex, demand}};
    world_.policy->on_revoked = api::ProvisioningPolicy::OnRevoked::kRequeue;
    world_.policy->run_duration.emplace();
    world_.policy->stuck_after_seconds = 300;
  }

  void EditPolicy() {
    api::ProvisioningPolicy& policy = *world_.policy;
    switch (random_.Below(3)) {
      case 0:
        policy.max_price_per_hour.reset();
        if (random_.Below(2) == 0) policy.max_price_per_hour = *api::Quantity::Parse("2");
        break;
      case 1:
        policy.steps[0].pool.reset();
        if (random_.Below(2) == 0) {
          policy.steps[0].pool = {.name = "none", .max_nodes = 1, .node = {{"nvidia.com/gpu", 0}}};
        }
        break;
      default:
        policy.stock = random_.Below(2) == 0 ? api::ProvisioningPolicy::Stock::kShared
                                             : api::ProvisioningPolicy::Stock::kIgnored;
    }
  }

  void Crash() {
    world_.last_attempt = 0;
    last_attempt_ = 0;  // the name of a request that is gone may come again
    if (random_.Below(2) == 0) world_.stock.emplace();
  }

  bool provisioned() const {
    return !world_.requests.empty() &&
           api::IsTrue(world_.requests.back().conditions, kProvisionedCondition);
  }
  // What a cloud does: a provisioned request does not fail, another one is not revoked.
  void Answer(const std::string& type, const char* reason) {
    if (world_.requests.empty()) return;
    if (type == kFailedCondition && provisioned()) return;
    if (type == kCapacityRevokedCondition && !provisioned()) return;
    world_.Answer(type.c_str(), api::ConditionStatus::kTrue, reason, "m");
  }
  void Wait() {
    if (world_.requests.empty() || provisioned()) return;
    world_.Answer("Provisioned", api::ConditionStatus::kFalse, "ResourcePoolExhausted", "None.");
  }

  bool reserved() const { return world_.workload.status.admission.has_value(); }

  // Plays the queue: an admission takes the first flavor that is not avoided.
  void Queue() {
    const api::CheckState state = world_.check().state;
    const bool admitted = api::IsTrue(world_.workload.status.conditions, api::kAdmitted);
    if (reserved() && (state == api::CheckState::kRetry || random_.Below(20) == 0)) {
      world_.Evict();
      world_.SetCondition(api::kAdmitted, api::ConditionStatus::kFalse, "NoReservation");
    } else if (reserved() && state == api::CheckState::kReady && !admitted) {
      world_.Admit();
    } else if (!reserved()) {
      for (const char* flavor : {"spot", "demand"}) {
        if (world_.avoided().find(flavor) != std::string::npos) continue;
        return world_.GiveQuota(flavor);
      }
    }
  }

  void Note(std::size_t told) {
    for (std::size_t at = told; at < world_.events.size(); ++at) {
      if (world_.events[at].find("CapacityExpiring") != std::string::npos) {
        ++tally_.warned;
        ASSERT_FALSE(world_.requests.empty());
        EXPECT_TRUE(warned_.insert(world_.requests.back().meta.name).second) << "told twice";
      }
    }
    tally_.vetoed += world_.check().message.find("passed over") != std::string::npos ? 1 : 0;
    tally_.ready += world_.check().state == api::CheckState::kReady ? 1 : 0;
    tally_.learnt += world_.stock->Of("queued-provisioning.gke.io").empty() ? 0 : 1;
  }

  void Check(bool asked) {
    EXPECT_LE(world_.requests.size(), 1U) << "one request at a time";
    EXPECT_TRUE(reserved() || world_.requests.empty()) << "nothing is asked without quota";
    for (const auto& [name, used] : world_.memory["dws-prov"].steps) {
      EXPECT_LE(used.attempts, kMaxAttempts) << name;
      if (name != "demand") {
        EXPECT_LE(used.waited_seconds, kMaxWait + kLongestPause) << name << " waited too long";
      }
    }
    if (world_.requests.empty()) return;
    const api::ProvisioningRequest& request = world_.requests.front();
    const auto attempt = AttemptOf(request.meta.name, world_.workload.meta.name, "dws-prov");
    ASSERT_TRUE(attempt.has_value());
    EXPECT_GE(*attempt, last_attempt_) << "attempts only grow";
    last_attempt_ = *attempt;
    world_.last_attempt = last_attempt_;
    if (!asked) return;
    ++tally_.asked;
    const std::string& step = request.meta.annotations.at(api::kProvisioningStepAnnotation);
    tally_.steps.insert(step);
    const Vetoes vetoes = VetoesOf({*world_.policy, world_.config, world_.workload, &world_.flavors,
                                    &*world_.stock, world_.now, world_.job_deadline});
    EXPECT_FALSE(vetoes.contains(step)) << step << " asks: " << vetoes.at(step).message;
  }

  World world_;
  Random random_;
  Tally& tally_;
  std::int32_t last_attempt_ = 0;
  std::set<std::string> warned_;
};

TEST(PolicyStoryTest, RandomStoriesKeepTheRules) {
  PolicyStory::Tally tally;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PolicyStory story(seed, tally);
    for (int step = 0; step < 80 && !::testing::Test::HasFailure(); ++step) story.Step();
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
  EXPECT_GT(tally.asked, 500);
  EXPECT_GT(tally.vetoed, 100);
  EXPECT_GT(tally.learnt, 100);
  EXPECT_GT(tally.warned, 10);
  EXPECT_GT(tally.ready, 100);
  EXPECT_EQ(tally.steps, (std::set<std::string>{"demand", "flex", "spot"}));
}

}  // namespace
}  // namespace berth::provisioning

// Goal: the rules hold for any cloud, queue and administrator: one request at a time, attempts
// grow, nothing remains without quota, retries are bounded, decisions reach a fixed point.
// Method: 400 random stories of 60 steps; a failing seed is named and replays exactly.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/random.h"
#include "provisioning/request_names.h"
#include "provisioning/request_state.h"
#include "tests/provisioning/world.h"

namespace berth::provisioning {
namespace {

using testing::World;

class Story {
 public:
  // The number of times the check had each state: the stories must reach all states.
  using Tally = std::map<api::CheckState, int>;

  Story(std::uint64_t seed, Tally& tally) : tally_(tally), random_(seed) {
    world_.config.backoff_limit_count = static_cast<std::int32_t>(random_.Below(4));
  }

  void Step() {
    world_.Pass(static_cast<int>(random_.Below(200)));
    switch (random_.Below(9)) {
      case 0: Answer("Accepted", "SuccessfullyQueued"); break;
      case 1: Answer("Provisioned", "Provisioned"); break;
      case 2:
        Answer("Failed", random_.Below(3) == 0 ? "FailedToCreatePods" : "QuotaExceeded");
        break;
      case 3: Answer("BookingExpired", "BookingExpired"); break;
      case 4: Answer("CapacityRevoked", "CapacityRevoked"); break;
      case 5: world_.config.parameters["p"] = std::to_string(random_.Below(3)); break;
      case 6: DeleteByHand(); break;
      case 7: world_.has_config = random_.Below(4) != 0; break;
      default: break;
    }
    Queue();
    world_.Settle();
    ++tally_[world_.check().state];
    Check();
  }

 private:
  void Answer(const char* type, const char* reason) {
    if (world_.requests.empty()) return;
    world_.Answer(type, api::ConditionStatus::kTrue, reason, "m");
  }

  void DeleteByHand() {
    if (!world_.requests.empty()) world_.requests.pop_back();
    if (random_.Below(2) == 0) world_.templates.clear();
  }

  bool reserved() const { return world_.workload.status.admission.has_value(); }

  // Plays the queue: evicts on Retry, deactivates on Rejected, admits, preempts, reserves quota.
  void Queue() {
    const api::CheckState state = world_.check().state;
    const bool admitted = api::IsTrue(world_.workload.status.conditions, api::kAdmitted);
    if (reserved() && (state == api::CheckState::kRetry || random_.Below(12) == 0)) {
      world_.Evict();
      world_.SetCondition(api::kAdmitted, api::ConditionStatus::kFalse, "NoReservation");
    } else if (reserved() && state == api::CheckState::kRejected) {
      world_.workload.spec.active = false;
      world_.Evict();
      world_.SetCondition(api::kAdmitted, api::ConditionStatus::kFalse, "NoReservation");
    } else if (reserved() && state == api::CheckState::kReady && !admitted) {
      world_.Admit();
    } else if (!reserved() && world_.workload.spec.active && random_.Below(2) == 0) {
      world_.GiveQuota();
    }
  }

  void Check() {
    std::set<std::string> names;
    for (const api::ProvisioningRequest& request : world_.requests) {
      EXPECT_TRUE(names.insert(request.meta.name).second) << "one name, two requests";
    }
    EXPECT_LE(world_.requests.size(), 1U) << "one request at a time";
    if (!reserved()) {
      EXPECT_TRUE(world_.requests.empty()) << "nothing is asked for without quota";
      EXPECT_TRUE(world_.templates.empty());
    }
    if (!world_.requests.empty()) {
      const auto attempt =
          AttemptOf(world_.requests[0].meta.name, world_.workload.meta.name, "dws-prov");
      ASSERT_TRUE(attempt.has_value());
      EXPECT_GE(*attempt, last_attempt_) << "attempts only grow";
      last_attempt_ = *attempt;
      world_.last_attempt = last_attempt_;
    }
    EXPECT_LE(world_.check().retry_count.value_or(0), world_.config.backoff_limit_count);
    EXPECT_EQ(world_.check().requeue_after_seconds.has_value(),
              world_.check().state == api::CheckState::kRetry);
    if (world_.check().state == api::CheckState::kReady && !world_.requests.empty()) {
      EXPECT_FALSE(world_.check().pod_set_updates.empty());
    }
  }

  Tally& tally_;
  World world_;
  Random random_;
  std::int32_t last_attempt_ = 0;
};

TEST(RandomStoryTest, RandomStoriesKeepTheRules) {
  Story::Tally tally;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Story story(seed, tally);
    for (int step = 0; step < 60 && !::testing::Test::HasFailure(); ++step) story.Step();
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
  for (const api::CheckState state : {api::CheckState::kPending, api::CheckState::kReady,
                                      api::CheckState::kRetry, api::CheckState::kRejected}) {
    EXPECT_GT(tally[state], 100);
  }
}

}  // namespace
}  // namespace berth::provisioning

// Goal: a race has one winner, whatever the cloud, the queue and crashes do: the Ready check never
// changes its request, the others are gone within two passes, no more requests wait than the width,
// nothing is asked without quota. Method: 300 random stories of 80 steps; the driver dies between
// any two writes of a decision; a failing seed is named and replays exactly.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/random.h"
#include "provisioning/race.h"
#include "provisioning/request_names.h"
#include "provisioning/request_state.h"
#include "tests/provisioning/world.h"

namespace berth::provisioning {
namespace {

using testing::World;

constexpr std::int64_t kRaceWait = 900;
constexpr int kRacePause = 100;  // seconds
constexpr int kKeepSurplus = 150;

class RaceStory {
 public:
  struct Tally {
    int ready = 0;
    int raced = 0;  // more than one request at once
    int died = 0;   // between two writes of one decision
    int surplus = 0;
    int lost = 0;     // races without a winner
    int offered = 0;  // losers whose nodes are kept for others
  };

  RaceStory(std::uint64_t seed, Tally& tally) : random_(seed), tally_(tally) {
    if (random_.Below(2) == 0) world_.stock.emplace();
    api::ProvisioningStep step{.name = "one", .flavor = "gpu"};
    step.max_wait_seconds = kRaceWait;
    world_.policy = api::ProvisioningPolicy{.meta = {.name = "p"}};
    world_.policy->race.emplace().width = static_cast<std::int32_t>(2 + random_.Below(2));
    world_.policy->race->stagger_seconds = static_cast<std::int64_t>(random_.Below(120));
    if (seed % 3 == 0) world_.policy->race->keep_surplus_seconds = kKeepSurplus;
    world_.policy->on_revoked = api::ProvisioningPolicy::OnRevoked::kRequeue;
    world_.policy->cycle_after_seconds = 60;
    if (random_.Below(2) == 0) {
      step.zones = {"a", "b", "c"};
      world_.policy->steps = {step};
    } else {
      world_.policy->race->over = api::ProvisioningRace::Over::kSteps;
      for (const char* name : {"one", "two", "three"}) {
        step.name = name;
        step.parameters["step"] = name;
        world_.policy->steps.push_back(step);
      }
    }
  }

  void Step() {
    world_.Pass(static_cast<int>(random_.Below(kRacePause)));
    const std::uint64_t moves = 1 + random_.Below(2);
    for (std::uint64_t move = 0; move < moves; ++move) Cloud();
    Queue();
    Drive();
    Check();
  }

 private:
  void Cloud() {
    if (world_.requests.empty()) return;
    api::ProvisioningRequest& request = world_.requests[random_.Below(world_.requests.size())];
    const bool granted = api::IsTrue(request.conditions, kProvisionedCondition);
    const bool failed = api::IsTrue(request.conditions, kFailedCondition);
    const auto answer = [&](const char* type, const char* reason) {
      world_.AnswerTo(request, type, testing::kTrue, reason, "m");
    };
    switch (random_.Below(8)) {
      case 0: answer("Accepted", "SuccessfullyQueued"); break;
      case 1:
        if (random_.Below(3) == 0) {
          GrantAll();
        } else if (!failed && !granted) {
          answer("Provisioned", "Provisioned");
        }
        break;
      case 2:
        if (!granted) answer("Failed", "ResourcePoolExhausted");
        break;
      case 3:
        if (granted && random_.Below(4) == 0) answer("CapacityRevoked", "CapacityRevoked");
        break;
      default: break;
    }
  }

  // Stock that comes serves every request that waits for it: one wins, the others are surplus.
  void GrantAll() {
    for (api::ProvisioningRequest& each : world_.requests) {
      if (MayBeGranted(each)) {
        world_.AnswerTo(each, "Provisioned", testing::kTrue, "Provisioned", "m");
      }
    }
  }

  bool reserved() const { return world_.workload.status.admission.has_value(); }

  void Queue() {
    const api::CheckState state = world_.check().state;
    const bool admitted = api::IsTrue(world_.workload.status.conditions, api::kAdmitted);
    if (reserved() && (state == api::CheckState::kRetry || random_.Below(30) == 0)) {
      world_.Evict();
      world_.SetCondition(api::kAdmitted, api::ConditionStatus::kFalse, "NoReservation");
      winner_.clear();
    } else if (reserved() && state == api::CheckState::kReady && !admitted) {
      world_.Admit();
    } else if (!reserved() && world_.avoided().empty()) {
      world_.GiveQuota();
    }
  }

  // Dies between two writes, sometimes; comes back and settles, with the cloud at work meanwhile.
  void Drive() {
    const int deaths = static_cast<int>(random_.Below(3));
    for (int death = 0; death < deaths; ++death) {
      const std::size_t writes = random_.Below(4);
      world_.Round(writes);
      const std::size_t planned = world_.last.actions.size() + (world_.last.checks.empty() ? 0 : 1);
      tally_.died += planned > writes && writes > 0 ? 1 : 0;
      Follow();
      world_.last_attempt = 0;
      if (random_.Below(3) == 0) Cloud();
    }
    const bool was_ready = world_.check().state == api::CheckState::kReady;
    world_.Settle();
    Follow();
    if (was_ready && reserved() && world_.check().state == api::CheckState::kReady) {
      const auto stays =
          std::count_if(world_.requests.begin(), world_.requests.end(),
                        [this](const api::ProvisioningRequest& each) { return !IsOffered(each); });
      EXPECT_LE(stays, 1) << "a loser stays";
      tally_.offered += static_cast<int>(world_.requests.size()) - static_cast<int>(stays);
    }
  }

  // Whether the request has lost, and its nodes came no longer ago than they are kept.
  bool IsOffered(const api::ProvisioningRequest& request) {
    const auto granted = GrantedAt(request);
    if (!granted || !HasLost(request, world_.workload)) return false;
    const std::int64_t keep = world_.policy->race->keep_surplus_seconds;
    return world_.now <
           std::max(*granted, world_.check().last_transition_time) + std::chrono::seconds(keep);
  }

  // The check's winner, once named, is the winner.
  void Follow() {
    if (world_.check().state != api::CheckState::kReady) return winner_.clear();
    const std::string named = NamedWinner(world_.check().pod_set_updates);
    EXPECT_FALSE(named.empty());
    EXPECT_TRUE(winner_.empty() || named == winner_) << named << " after " << winner_;
    winner_ = named;
  }

  void Check() {
    EXPECT_TRUE(reserved() || world_.requests.empty()) << "nothing is asked without quota";
    std::set<std::string> names;
    int waiting = 0;
    std::set<std::string> places;
    for (const api::ProvisioningRequest& request : world_.requests) {
      EXPECT_TRUE(names.insert(request.meta.name).second) << "one name, two requests";
      const RequestState state = StateOf(request);
      waiting += state == RequestState::kFailed || state == RequestState::kCapacityRevoked ? 0 : 1;
      const auto& marks = request.meta.annotations;
      const auto zone = marks.find(api::kProvisioningZoneAnnotation);
      EXPECT_TRUE(places
                      .insert(marks.at(api::kProvisioningStepAnnotation) + "/" +
                              (zone == marks.end() ? "" : zone->second))
                      .second)
          << "two requests in one place";
    }
    EXPECT_LE(waiting, world_.policy->race->width);
    const api::ProvisioningMemory& memory = world_.memory["dws-prov"];
    for (const auto& [name, used] : memory.steps) {
      EXPECT_LE(used.waited_seconds, kRaceWait + kRacePause) << name << " waited too long";
    }
    EXPECT_LE(memory.race_waste.attempts.size(), 16U);
    tally_.raced += waiting > 1 ? 1 : 0;
    tally_.surplus += memory.race_waste.node_seconds > 0 ? 1 : 0;
    tally_.ready += world_.check().state == api::CheckState::kReady ? 1 : 0;
    tally_.lost += memory.outcomes.size() > 1 ? 1 : 0;
  }

  World world_;
  Random random_;
  Tally& tally_;
  std::string winner_;
};

TEST(RaceStoryTest, RandomRacesHaveOneWinner) {
  RaceStory::Tally tally;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RaceStory story(seed, tally);
    for (int step = 0; step < 80 && !::testing::Test::HasFailure(); ++step) story.Step();
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
  EXPECT_GT(tally.ready, 1000);
  EXPECT_GT(tally.raced, 1000);
  EXPECT_GT(tally.died, 300);
  EXPECT_GT(tally.surplus, 100);
  EXPECT_GT(tally.lost, 300);
  // A third of the stories keeps nodes, for about two steps after a race with surplus.
  EXPECT_GT(tally.offered, 50);
}

}  // namespace
}  // namespace berth::provisioning

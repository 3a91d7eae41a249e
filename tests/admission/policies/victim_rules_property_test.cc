// Goal: whatever runs, LeastWorkLost takes a set of victims that Kueue's rules allow, that has no
// victim to spare, and that loses no more work than Kueue's own choice; a preemption is put off
// until its patience has passed, and no longer; nobody is reclaimed before the minimum run time.
// Method: random guests of two queues, and a head of the owner; the same world under each policy.
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "admission/policies/victim_rules.h"
#include "api/queue_policy.h"
#include "base/random.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using std::chrono::minutes;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;

constexpr int kQuota = 16;

// The owner has all quota; its head comes when guests have taken it.
class GuestWorld {
 public:
  GuestWorld(std::uint64_t seed, const api::StringMap& policy) {
    Random random(seed);
    api::ClusterQueue owner = MakeQueue("owner", "org", {{"f", {{"gpu", kQuota}}}});
    owner.spec.preemption.reclaim_within_cohort =
        random.Below(2) == 0 ? api::PreemptionPolicy::kAny : api::PreemptionPolicy::kLowerPriority;
    owner.meta.annotations = policy;
    std::vector<api::ClusterQueue> queues = {owner};
    for (const char* name : {"a", "b"}) {
      queues.push_back(MakeQueue(name, "org", {{"f", {{"gpu", 0}}}}));
      queues.back().meta.annotations = policy;
    }
    world_ = std::make_unique<TableWorld>(std::vector<std::string>{"f"}, queues);
    for (int free = kQuota, i = 0; free > 0; ++i) {
      const int size = std::min(free, static_cast<int>(1 + random.Below(6)));
      free -= size;
      const std::string name = "g" + std::to_string(i);
      world_->Apply(MakeJob(name, random.Below(2) == 0 ? "a" : "b", size, {{"gpu", 1}},
                            static_cast<std::int32_t>(random.Below(2))));
      world_->Cycle();
      started_.emplace(name, world_->now());
      world_->Advance(minutes(1 + random.Below(90)));
    }
    head_ = MakeJob("head", "owner", static_cast<std::int32_t>(1 + random.Below(kQuota)),
                    {{"gpu", 1}}, static_cast<std::int32_t>(random.Below(3)));
    head_.spec.maximum_execution_time_seconds =
        static_cast<std::int32_t>(60 * (1 + random.Below(600)));
  }

  // The decision on the head, which is valid until the next call.
  const Decision& Decide() {
    if (!applied_) world_->Apply(head_);
    applied_ = true;
    world_->Cycle();
    return world_->Of("head");
  }
  TableWorld& world() { return *world_; }
  WallTime StartOfGuest(const std::string& name) const { return started_.at(name); }

  // Returns the work that the decision's victims lose, in GPU-seconds.
  double Lost(const Decision& decision) const {
    double lost = 0;
    for (const Victim& victim : decision.victims) {
      const Duration ran = world_->now() - StartOfGuest(victim.object->meta.name);
      lost += SizeOf(victim) * std::chrono::duration<double>(ran).count();
    }
    return lost;
  }
  static int SizeOf(const Victim& victim) { return victim.object->spec.pod_sets[0].count; }
  int HeadSize() const { return head_.spec.pod_sets[0].count; }

 private:
  std::unique_ptr<TableWorld> world_;
  std::map<std::string, WallTime> started_;
  api::Workload head_;
  bool applied_ = false;
};

TEST(VictimRulesPropertyTest, LeastWorkLostChoosesAllowedNeededAndCheapestVictims) {
  int cheaper = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    GuestWorld plain(seed, {});
    GuestWorld least(seed, {{api::kVictimsAnnotation, "LeastWorkLost"}});
    const Decision& usual = plain.Decide();
    const Decision& chosen = least.Decide();
    ASSERT_EQ(chosen.outcome, usual.outcome) << "seed " << seed;
    if (chosen.outcome != Outcome::kPreempting) continue;
    int freed = 0;
    for (const Victim& victim : chosen.victims) {
      freed += GuestWorld::SizeOf(victim);
      if (least.world()
              .scheduler()
              .state()
              .queue(chosen.cluster_queue)
              .spec.preemption.reclaim_within_cohort == api::PreemptionPolicy::kLowerPriority) {
        EXPECT_LT(victim.object->spec.priority.value_or(0),
                  chosen.object->spec.priority.value_or(0))
            << "seed " << seed;
      }
    }
    for (const Victim& victim : chosen.victims) {
      EXPECT_LT(freed - GuestWorld::SizeOf(victim), least.HeadSize()) << "seed " << seed;
    }
    EXPECT_GE(freed, least.HeadSize()) << "seed " << seed;
    EXPECT_LE(least.Lost(chosen), plain.Lost(usual) + 1) << "seed " << seed;
    cheaper += least.Lost(chosen) < plain.Lost(usual) - 1 ? 1 : 0;
  }
  EXPECT_GT(cheaper, 20) << "the policy makes a difference";
}

TEST(VictimRulesPropertyTest, PreemptionWaitsNoLongerThanItsPatience) {
  int waited = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    GuestWorld plain(seed, {});
    GuestWorld patient(seed, {{api::kPreemptionPatienceAnnotation, "1h"}});
    const Outcome usual = plain.Decide().outcome;
    if (usual != Outcome::kPreempting) continue;
    const WallTime asked = patient.world().now();
    const Decision& first = patient.Decide();
    if (first.outcome == Outcome::kPreempting) continue;
    ++waited;
    EXPECT_EQ(first.remark, Remark::kPreemptionPutOff) << "seed " << seed;
    const auto next = patient.world().scheduler().NextTurn();
    ASSERT_TRUE(next) << "seed " << seed;
    EXPECT_LE(*next, asked + minutes(60)) << "seed " << seed;
    patient.world().SetTime(*next);
    EXPECT_EQ(patient.Decide().outcome, Outcome::kPreempting) << "seed " << seed;
  }
  EXPECT_GT(waited, 20) << "the policy makes a difference";
}

TEST(VictimRulesPropertyTest, NoVictimHasRunShorterThanTheMinimum) {
  int spared = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    GuestWorld guests(seed, {{api::kReclaimMinRunAnnotation, "45m"}});
    const Decision& decision = guests.Decide();
    for (const Victim& victim : decision.victims) {
      EXPECT_GE(guests.world().now() - guests.StartOfGuest(victim.object->meta.name),
                minutes(45) - std::chrono::seconds(2))
          << "seed " << seed;
    }
    spared += decision.outcome == Outcome::kNoCandidates ? 1 : 0;
  }
  EXPECT_GT(spared, 20) << "the policy makes a difference";
}

}  // namespace
}  // namespace berth::admission

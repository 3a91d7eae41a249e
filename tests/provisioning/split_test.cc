// Goal: a Workload whose pods need machines of several pools asks for each part, and starts when
// all have come; a part that fails ends the others, whoever crashes. Method: the small world of
// world.h; the test plays the cloud. 100 random stories with crashes; a failing seed is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "provisioning/request_names.h"
#include "provisioning/request_state.h"
#include "tests/provisioning/world.h"

namespace berth::provisioning {
namespace {

using api::CheckState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Pr;
using ::testing::SizeIs;
using testing::World;

// Two pod sets of flavor gpu and one of flavor tpu, each with nodes of its own.
World TwoPools() {
  World world;
  world.AddPodSet("more", 2, {{"nvidia.com/gpu", 1}});
  world.AddPodSet("tpu", 3, {{"nvidia.com/gpu", 1}});
  world.policy = api::ProvisioningPolicy{.meta = {.name = "p"}};
  world.policy->split.emplace();
  world.policy->on_revoked = api::ProvisioningPolicy::OnRevoked::kRequeue;
  return world;
}

void GiveTwoFlavors(World& world) {
  world.GiveQuota();
  world.workload.status.admission->pod_set_assignments[2].flavors = {{"nvidia.com/gpu", "tpu"}};
}

api::ProvisioningRequest& RequestOf(World& world, const std::string& name) {
  for (api::ProvisioningRequest& each : world.requests) {
    if (each.meta.name == name) return each;
  }
  ADD_FAILURE() << "no request " << name;
  return world.requests.front();
}

void GrantTo(World& world, const std::string& name) {
  world.AnswerTo(RequestOf(world, name), "Provisioned", testing::kTrue, "Provisioned", "There.");
}

class SplitTest : public ::testing::Test {
 protected:
  SplitTest() { GiveTwoFlavors(world_); }
  World world_ = TwoPools();
};

TEST_F(SplitTest, EachPartHasARequestAndTheCheckWaitsForAll) {
  world_.Settle();
  ASSERT_THAT(world_.RequestNames(), ElementsAre(Pr(1), Pr(2)));
  EXPECT_THAT(world_.requests[0].pod_sets, SizeIs(2));
  ASSERT_THAT(world_.requests[1].pod_sets, SizeIs(1));
  EXPECT_EQ(world_.requests[1].pod_sets[0].count, 3);
  GrantTo(world_, Pr(2));
  world_.Settle();
  EXPECT_EQ(world_.check().state, CheckState::kPending);
  EXPECT_EQ(world_.check().message,
            "1 of 2 groups of pods have nodes and keep them until 2023-11-14T22:21:20Z");
  ASSERT_TRUE(world_.last.next_wake);
  EXPECT_EQ(*world_.last.next_wake, Duration(std::chrono::seconds(480)));
  GrantTo(world_, Pr(1));
  world_.Settle();
  EXPECT_EQ(world_.check().state, CheckState::kReady);
  ASSERT_THAT(world_.check().pod_set_updates, SizeIs(3));
  const auto consumes = [this](std::size_t at) {
    return world_.check().pod_set_updates[at].annotations.at(
        api::kConsumeProvisioningRequestAnnotation);
  };
  EXPECT_EQ(world_.check().pod_set_updates[2].name, "tpu");
  EXPECT_EQ(consumes(0), Pr(1));
  EXPECT_EQ(consumes(1), Pr(1));
  EXPECT_EQ(consumes(2), Pr(2));
}

TEST_F(SplitTest, LatePartEndsAllRequests) {
  world_.Settle();
  GrantTo(world_, Pr(1));
  world_.Settle();
  world_.Pass(480);
  world_.Settle();
  EXPECT_EQ(world_.check().state, CheckState::kRetry);
  EXPECT_EQ(world_.memory.at("dws-prov").outcomes.back().reason, "GangPartial");
  EXPECT_EQ(world_.memory.at("dws-prov").counted_attempt, 2);
  world_.Evict();
  world_.Settle();
  EXPECT_THAT(world_.requests, IsEmpty());
  GiveTwoFlavors(world_);
  world_.Pass(3600);
  world_.Settle();
  EXPECT_THAT(world_.RequestNames(), ElementsAre(Pr(3), Pr(4)));
}

TEST_F(SplitTest, FailedPartFailsTheAttemptOnce) {
  world_.Settle();
  GrantTo(world_, Pr(2));
  world_.AnswerTo(RequestOf(world_, Pr(1)), "Failed", testing::kTrue, "QuotaExceeded", "No quota.");
  world_.Settle();
  EXPECT_EQ(world_.check().state, CheckState::kRetry);
  EXPECT_THAT(world_.check().message, HasSubstr("No quota."));
  EXPECT_EQ(world_.memory.at("dws-prov").steps.begin()->second.attempts, 1) << "once, not twice";
}

TEST_F(SplitTest, RevokedCapacityOfOnePartRetriesTheCheck) {
  world_.Settle();
  GrantTo(world_, Pr(1));
  GrantTo(world_, Pr(2));
  world_.Settle();
  world_.Admit();
  world_.AnswerTo(RequestOf(world_, Pr(1)), "CapacityRevoked", testing::kTrue, "CapacityRevoked",
                  "Gone.");
  world_.Settle();
  EXPECT_EQ(world_.check().state, CheckState::kRetry);
}

TEST_F(SplitTest, EditOfThePolicyKeepsGrantedParts) {
  world_.Settle();
  GrantTo(world_, Pr(1));
  GrantTo(world_, Pr(2));
  world_.Settle();
  world_.policy->split.reset();
  world_.Settle();
  EXPECT_THAT(world_.RequestNames(), ElementsAre(Pr(1), Pr(2)));
  EXPECT_EQ(world_.check().state, CheckState::kReady);
}

TEST_F(SplitTest, EditOfThePolicyReplacesWaitingRequests) {
  world_.Settle();
  world_.policy->split.reset();
  world_.Settle();
  EXPECT_THAT(world_.RequestNames(), ElementsAre(Pr(3)));
  EXPECT_THAT(world_.requests[0].pod_sets, SizeIs(3));
}

TEST_F(SplitTest, DeletedRequestIsCreatedAgain) {
  world_.Settle();
  world_.requests.erase(world_.requests.begin());
  world_.Settle();
  EXPECT_THAT(world_.RequestNames(), ElementsAre(Pr(2), Pr(3)));
  EXPECT_THAT(world_.requests[1].pod_sets, SizeIs(2));
}

TEST_F(SplitTest, PodsOfOneFlavorHaveOneRequest) {
  world_.GiveQuota();
  world_.Settle();
  ASSERT_THAT(world_.RequestNames(), ElementsAre(Pr(1)));
  EXPECT_THAT(world_.requests[0].pod_sets, SizeIs(3));
}

// The check is Ready only with the capacity of both parts, and each part has one live request.
TEST(SplitStoryTest, JobStartsWithAllPartsOrNoneDespiteCrashes) {
  int ready = 0;
  int lost = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    World world = TwoPools();
    GiveTwoFlavors(world);
    for (int step = 0; step < 60; ++step) {
      world.Pass(static_cast<int>(random.Below(200)));
      if (!world.requests.empty()) {
        api::ProvisioningRequest& request = world.requests[random.Below(world.requests.size())];
        const bool open = StateOf(request) == RequestState::kUnanswered;
        if (random.Below(3) == 0 && open) {
          world.AnswerTo(request, "Provisioned", testing::kTrue, "Provisioned", "There.");
        } else if (random.Below(8) == 0 && open) {
          world.AnswerTo(request, "Failed", testing::kTrue, "ResourcePoolExhausted", "None.");
        }
      }
      world.crash_after = random.Below(2) == 0 ? static_cast<int>(random.Below(4)) : -1;
      world.Settle();
      world.crash_after = -1;
      const CheckState state = world.check().state;
      if (state == CheckState::kReady) {
        ++ready;
        std::set<std::string> named;
        for (const auto& update : world.check().pod_set_updates) {
          named.insert(update.annotations.at(api::kConsumeProvisioningRequestAnnotation));
        }
        EXPECT_EQ(named.size(), 2U);
        for (const std::string& name : named) {
          EXPECT_TRUE(api::IsTrue(RequestOf(world, name).conditions, kProvisionedCondition));
        }
        world.SetCondition(api::kFinished, testing::kTrue, "Succeeded");
        world.Settle();
        EXPECT_THAT(world.requests, IsEmpty());
        break;
      }
      EXPECT_LE(world.requests.size(), 4U);
      if (state == CheckState::kRetry) {
        ++lost;
        world.Evict();
        world.Settle();
        EXPECT_THAT(world.requests, IsEmpty());
        world.Pass(7200);
        GiveTwoFlavors(world);
      }
    }
  }
  EXPECT_GT(ready, 50);
  EXPECT_GT(lost, 20);
}

}  // namespace
}  // namespace berth::provisioning

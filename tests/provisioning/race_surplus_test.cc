// Goal: nodes that came for a request which lost a race are offered to others for a while, counted
// once, and never taken by the workload that raced. Method: the small world of race_world.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provisioning/race.h"
#include "tests/provisioning/race_world.h"

namespace berth::provisioning {
namespace {

using testing::Asked;
using ::testing::ElementsAre;
using testing::Grant;
using ::testing::SizeIs;
using testing::StepRace;
using testing::World;
using testing::ZoneRace;

// A race over zones that keeps surplus nodes for five minutes: b wins after 200 s.
World KeepingRace() {
  World world = ZoneRace();
  world.policy->race->keep_surplus_seconds = 300;
  world.policy->reuse.emplace().enabled = true;
  world.Settle();
  world.Pass(120);
  world.Settle();
  world.Pass(80);
  Grant(world, 1);
  return world;
}

TEST(RaceSurplusTest, LosersNodesAreKeptForTheSurplusTime) {
  World world = KeepingRace();
  world.Pass(5);
  Grant(world, 0);
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kReady);
  EXPECT_THAT(world.RequestNames(), ElementsAre(Asked(1), Asked(2)));
  EXPECT_TRUE(HasLost(world.requests[0], world.workload));
  EXPECT_FALSE(HasLost(world.requests[1], world.workload));
  // The whole time counts, and the ten minutes until idle nodes are removed.
  EXPECT_EQ(world.memory.at("dws-prov").race_waste.node_seconds, 300 + 600);
  EXPECT_EQ(world.last.next_wake, std::chrono::seconds(300));
  world.Admit();
  world.Pass(299);
  world.Settle();
  EXPECT_THAT(world.RequestNames(), SizeIs(2));
  world.Pass(1);
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Asked(2)));
  EXPECT_EQ(world.memory.at("dws-prov").race_waste.node_seconds, 900) << "booked once";
}

TEST(RaceSurplusTest, WaitingLoserIsDeletedAtItsKnownResourceVersion) {
  World world = KeepingRace();
  world.requests[0].meta.resource_version = "7";
  while (world.Round(0) && world.last.checks.empty()) world.Round();
  const auto drop =
      std::find_if(world.last.actions.begin(), world.last.actions.end(),
                   [](const Action& each) { return std::holds_alternative<DeleteRequest>(each); });
  ASSERT_NE(drop, world.last.actions.end());
  EXPECT_EQ(std::get<DeleteRequest>(*drop).resource_version, "7")
      << "a grant that comes meanwhile is seen";
  world.Round(1);  // the check's state alone is written
  world.Pass(5);
  Grant(world, 0);
  world.Settle();
  EXPECT_THAT(world.RequestNames(), SizeIs(2));
  EXPECT_EQ(NamedWinner(world.check().pod_set_updates), Asked(2));
}

// The capacity of the winner, a, is revoked while the nodes of the loser, b, are kept for others.
World RevokedWinner() {
  World world = KeepingRace();
  world.policy->on_revoked = api::ProvisioningPolicy::OnRevoked::kRequeue;
  world.policy->steps.front().max_attempts = 9;
  Grant(world, 0);
  world.Settle();  // the lower attempt of two grants in one second wins
  EXPECT_EQ(NamedWinner(world.check().pod_set_updates), Asked(1));
  world.AnswerTo(world.requests.at(0), "CapacityRevoked", testing::kTrue, "CapacityRevoked", "m");
  return world;
}

TEST(RaceSurplusTest, SurplusServesNoLaterAttemptOfItsWorkload) {
  World world = RevokedWinner();
  world.Settle();
  EXPECT_EQ(world.memory.at("dws-prov").counted_attempt, 2);
  EXPECT_EQ(world.check().state, api::CheckState::kRetry);
  world.Evict();
  world.GiveQuota();
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Asked(3)));
}

// The loser goes before the failure is counted, or between the count and its consequence.
TEST(RaceSurplusTest, DeletedLoserDoesNotHideTheWinnersFailure) {
  for (const bool goes_first : {true, false}) {
    World world = RevokedWinner();
    if (goes_first) world.requests.at(1).meta.deletion_timestamp = world.now;
    while (world.memory.at("dws-prov").counted_attempt == 0) ASSERT_TRUE(world.Round());
    EXPECT_EQ(world.memory.at("dws-prov").counted_attempt, goes_first ? 1 : 2);
    world.requests.pop_back();
    world.Settle();
    EXPECT_EQ(world.check().state, api::CheckState::kRetry) << goes_first;
  }
}

TEST(RaceSurplusTest, RevocationCountsAgainstTheWinnersStep) {
  World world = StepRace();
  world.policy->race->keep_surplus_seconds = 300;
  world.policy->on_revoked = api::ProvisioningPolicy::OnRevoked::kRequeue;
  world.Settle();
  world.Pass(120);
  world.Settle();
  Grant(world, 0);
  Grant(world, 1);
  world.Settle();  // the cheaper of two grants in one second wins
  ASSERT_EQ(NamedWinner(world.check().pod_set_updates), Asked(2));
  ASSERT_THAT(world.RequestNames(), SizeIs(2));
  world.AnswerTo(world.requests.at(1), "CapacityRevoked", testing::kTrue, "CapacityRevoked", "m");
  world.Settle();
  EXPECT_EQ(world.memory.at("dws-prov").steps.count("dear"), 0U);
  EXPECT_EQ(world.memory.at("dws-prov").steps.at("cheap").attempts, 1);
}

}  // namespace
}  // namespace berth::provisioning

// Goal: several requests race for one Workload: when each is made, which one wins, what becomes of
// the others, and what follows when all fail. Method: tables, and the small world of world.h; the
// test plays the cloud.
#include "provisioning/race.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/provisioning/race_world.h"

namespace berth::provisioning {
namespace {

using testing::Asked;
using ::testing::ElementsAre;
using testing::Grant;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Lose;
using testing::Mark;
using ::testing::SizeIs;
using testing::StepRace;
using testing::World;
using testing::ZoneRace;

struct WinnerRow {
  const char* name;
  std::vector<std::pair<int, std::int64_t>> runners;  // seconds of the grant or -1, price or -1
  int winner;                                         // -1: none
};

TEST(RaceTest, TheFirstGrantWinsThenTheCheaperThenTheLowerAttempt) {
  const std::vector<WinnerRow> rows{
      {"none is there", {{-1, 5}, {-1, 5}}, -1},
      {"no runner", {}, -1},
      {"the only one", {{-1, 5}, {7, 5}}, 1},
      {"the first", {{9, 1}, {7, 5}}, 1},
      {"of one second the cheaper", {{7, 5}, {7, 3}, {7, 4}}, 1},
      {"a known price before an unknown one", {{7, -1}, {7, 900}}, 1},
      {"of one price the lower attempt", {{7, 5}, {7, 5}}, 0},
  };
  for (const WinnerRow& row : rows) {
    std::vector<api::ProvisioningRequest> requests(row.runners.size());
    std::vector<Runner> runners;
    for (std::size_t at = 0; at < requests.size(); ++at) {
      const auto [granted, price] = row.runners[at];
      if (granted >= 0) {
        api::SetCondition(requests[at].conditions,
                          {.type = "Provisioned",
                           .status = testing::kTrue,
                           .last_transition_time = WallTime(std::chrono::seconds(granted))});
      }
      runners.push_back({&requests[at], static_cast<std::int32_t>(at) + 1,
                         price < 0 ? std::nullopt : std::optional(price)});
    }
    const Runner* winner = WinnerOf(runners);
    EXPECT_EQ(winner == nullptr ? -1 : winner->attempt - 1, row.winner) << row.name;
  }
}

// Another request without the race's mark would take the place of the one that waits.
TEST(RaceTest, RequestCreatedBeforeTheRaceWaitsAlone) {
  World world = ZoneRace();
  world.policy->race.reset();
  world.Settle();
  ASSERT_THAT(world.RequestNames(), ElementsAre(Asked(1)));
  world.policy->race.emplace().width = 2;
  world.Pass(600);
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Asked(1)));
  Lose(world, 0);
  world.Settle();
  ASSERT_THAT(world.RequestNames(), ElementsAre(Asked(2)));
  EXPECT_EQ(Mark(world.requests[0], api::kRaceAnnotation), "2");
}

TEST(RaceTest, NextRequestIsCreatedAfterTheFirstHasWaited) {
  World world = ZoneRace();
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Asked(1)));
  EXPECT_EQ(Mark(world.requests[0], api::kRaceAnnotation), "1");
  EXPECT_EQ(world.last.next_wake, std::chrono::seconds(120));
  world.Pass(119);
  world.Settle();
  EXPECT_THAT(world.requests, SizeIs(1));
  world.Pass(1);
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Asked(1), Asked(2)));
  EXPECT_EQ(Mark(world.requests[1], api::kRaceAnnotation), "1");
  EXPECT_EQ(Mark(world.requests[1], api::kProvisioningZoneAnnotation), "b");
  EXPECT_THAT(world.templates, SizeIs(2)) << "each request has its own";
  world.Pass(3600);
  world.Settle();
  EXPECT_THAT(world.requests, SizeIs(2)) << "no more than the width";
  EXPECT_EQ(world.memory_writes, 0) << "the requests are the memory";
}

TEST(RaceTest, EarlyGrantNeedsOneRequest) {
  World world = ZoneRace();
  world.Settle();
  world.Pass(100);
  world.Provision();
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kReady);
  world.Pass(600);
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Asked(1)));
}

TEST(RaceTest, WinnerStartsThePodsAndTheLoserIsDeletedInOnePass) {
  World world = ZoneRace();
  world.Settle();
  world.Pass(120);
  world.Settle();
  world.Pass(80);
  Grant(world, 1);
  world.Round();
  EXPECT_EQ(world.check().state, api::CheckState::kReady);
  EXPECT_THAT(world.RequestNames(), ElementsAre(Asked(2))) << "one pass";
  EXPECT_EQ(NamedWinner(world.check().pod_set_updates), Asked(2));
  EXPECT_EQ(world.check().pod_set_updates.front().node_selector.at("topology.kubernetes.io/zone"),
            "b");
  world.Settle();
  EXPECT_EQ(world.memory["dws-prov"].race_waste, api::ProvisioningMemory::RaceWaste{});
}

TEST(RaceTest, GrantedLoserIsDeletedAndItsWasteReportedOnce) {
  World world = ZoneRace();
  world.Settle();
  world.Pass(120);
  world.Settle();
  world.Pass(80);
  Grant(world, 1);
  world.Pass(5);
  Grant(world, 0);
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kReady);
  EXPECT_THAT(world.RequestNames(), ElementsAre(Asked(2))) << "the first grant wins";
  const auto& waste = world.memory.at("dws-prov").race_waste;
  EXPECT_EQ(waste.node_seconds, 600);
  EXPECT_EQ(waste.nano_dollars, 600'000'000);
  EXPECT_THAT(waste.attempts, ElementsAre(1));
  EXPECT_THAT(world.events,
              ::testing::Contains("Warning RaceSurplus: dws-prov: ProvisioningRequest " + Asked(1) +
                                  " lost the race after its 1 node had come; about 0.6 USD are "
                                  "wasted"));
}

TEST(RaceTest, GrantAfterTheDecisionChangesNothing) {
  World world = ZoneRace();
  world.Settle();
  world.Pass(120);
  world.Settle();
  Grant(world, 1);
  world.Round(1);  // the driver dies after the check's state
  ASSERT_EQ(world.check().state, api::CheckState::kReady);
  ASSERT_THAT(world.requests, SizeIs(2));
  world.requests[0].conditions.clear();
  Grant(world, 0);  // in the same second, with the lower attempt
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Asked(2)));
  EXPECT_EQ(NamedWinner(world.check().pod_set_updates), Asked(2));
  EXPECT_GT(world.memory.at("dws-prov").race_waste.node_seconds, 0);
}

TEST(RaceTest, ReadyCheckWithoutItsWinnerTakesNoLoser) {
  World world = ZoneRace();
  world.Settle();
  world.Pass(120);
  world.Settle();
  Grant(world, 1);
  world.Round(1);
  world.requests.pop_back();  // somebody deletes the winner
  world.Settle();
  EXPECT_THAT(world.requests, IsEmpty());
  EXPECT_EQ(world.check().state, api::CheckState::kReady);
}

TEST(RaceTest, FailedRequestIsReplacedByTheNextZone) {
  World world = ZoneRace();
  world.Settle();
  world.Pass(120);
  world.Settle();
  Lose(world, 1);
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Asked(1), Asked(2), Asked(3)));
  EXPECT_EQ(Mark(world.requests[2], api::kProvisioningZoneAnnotation), "c");
  EXPECT_THAT(world.memory, IsEmpty()) << "nothing is counted before the race is decided";
  Grant(world, 2);
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Asked(3)));
}

TEST(RaceTest, LostRaceCountsEachAttemptAndTheTimeOnce) {
  World world = ZoneRace();
  world.Settle();
  world.Pass(120);
  world.Settle();
  world.Pass(80);
  Lose(world, 0);
  Lose(world, 1);
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Asked(3))) << "the third zone, then";
  Lose(world, 0);
  world.Settle();
  const api::ProvisioningMemory& memory = world.memory.at("dws-prov");
  EXPECT_EQ(memory.steps.at("gpu").attempts, 3);
  EXPECT_EQ(memory.steps.at("gpu").waited_seconds, 200);
  EXPECT_THAT(memory.outcomes, SizeIs(3));
  EXPECT_EQ(world.check().state, api::CheckState::kRetry);
  EXPECT_EQ(world.check().message, "Retrying after step gpu: zone c: None.");
}

TEST(RaceTest, RequestsOfARaceShareTheWaitingTimeOfTheStep) {
  World world = ZoneRace();
  world.policy->max_wait_seconds = 900;
  world.policy->when_exhausted = api::ProvisioningPolicy::WhenExhausted::kReject;
  world.Settle();
  EXPECT_EQ(world.requests[0].parameters.at("ValidUntilSeconds"), "960");
  world.Pass(120);
  world.Settle();
  EXPECT_EQ(world.requests[1].parameters.at("ValidUntilSeconds"), "840");
  world.Answer("Accepted", testing::kTrue, "SuccessfullyQueued", "queued");
  world.AnswerTo(world.requests[0], "Accepted", testing::kTrue, "SuccessfullyQueued", "queued");
  world.Settle();
  EXPECT_EQ(world.last.next_wake, std::chrono::seconds(780));
  world.Pass(779);
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kPending);
  world.Pass(1);
  world.Settle();
  EXPECT_EQ(world.check().state, api::CheckState::kRejected);
  EXPECT_THAT(world.check().message, HasSubstr("zone b: no capacity within 900 s"));
}

TEST(RaceTest, TheAttemptsOfAStepBoundItsRace) {
  World world = ZoneRace();
  world.policy->steps.front().max_attempts = 1;
  world.Settle();
  world.Pass(600);
  world.Settle();
  EXPECT_THAT(world.requests, SizeIs(1));
}

TEST(RaceTest, StepsRaceWithTheirOwnClasses) {
  World world = StepRace();
  world.Settle();
  world.Pass(120);
  world.Settle();
  ASSERT_THAT(world.requests, SizeIs(2));
  EXPECT_EQ(world.requests[0].provisioning_class_name, "dear.example.com");
  EXPECT_EQ(world.requests[1].provisioning_class_name, "cheap.example.com");
  Grant(world, 0);
  Grant(world, 1);
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Asked(2))) << "of one second the cheaper";
  EXPECT_EQ(world.check().pod_set_updates.front().annotations.at(api::kProvisioningClassAnnotation),
            "cheap.example.com");
  EXPECT_EQ(world.memory.at("dws-prov").race_waste.nano_dollars, 1'500'000'000);
}

TEST(RaceTest, EachStepOfALostRaceCounts) {
  World world = StepRace();
  world.Settle();
  world.Pass(120);
  world.Settle();
  world.Pass(30);
  Lose(world, 0);
  Lose(world, 1);
  world.Settle();
  const api::ProvisioningMemory& memory = world.memory.at("dws-prov");
  EXPECT_EQ(memory.steps.at("dear").attempts, 1);
  EXPECT_EQ(memory.steps.at("dear").waited_seconds, 150);
  EXPECT_EQ(memory.steps.at("cheap").attempts, 1);
  EXPECT_EQ(memory.steps.at("cheap").waited_seconds, 30);
}

TEST(RaceTest, StepCountsAtMostItsWaitingTime) {
  World world = StepRace();
  world.policy->steps.front().max_wait_seconds = 300;
  world.Settle();
  world.Pass(120);
  world.Settle();
  world.Pass(480);
  world.Settle();
  EXPECT_THAT(world.RequestNames(), SizeIs(2)) << "until the race ends the request may win";
  Lose(world, 1);
  world.Settle();
  const api::ProvisioningMemory& memory = world.memory.at("dws-prov");
  EXPECT_EQ(memory.steps.at("dear").waited_seconds, 300);
  EXPECT_EQ(memory.steps.at("cheap").waited_seconds, 480);
}

TEST(RaceTest, APolicyThatDropsTheRaceKeepsOneRequest) {
  World world = ZoneRace();
  world.Settle();
  world.Pass(120);
  world.Settle();
  ASSERT_THAT(world.requests, SizeIs(2));
  world.policy->race.reset();
  world.Settle();
  EXPECT_THAT(world.RequestNames(), ElementsAre(Asked(2)));
}

struct SearchRow {
  const char* name;
  std::int32_t width;
  std::vector<std::string> zones;
  std::string provisioning_class;
  std::string selected;    // zone in the pods' node selector
  std::int32_t max_nodes;  // the limit of the step's pool; 0: unknown
  bool searches;
};

TEST(RaceTest, QueuedProvisioningSearchesInAllZonesWithOneRequest) {
  const char* const queued = "queued-provisioning.gke.io";
  const std::vector<SearchRow> rows{
      {"queued, without zones", 2, {}, queued, "", 0, true},
      {"no race", 1, {}, queued, "", 0, false},
      {"zones of its own", 2, {"a", "b"}, queued, "", 0, false},
      {"another class", 2, {}, "other.example.com", "", 0, false},
      {"the pods select a zone", 2, {}, queued, "a", 0, false},
      {"a pool with room for all zones", 2, {}, queued, "", 2, true},
      {"a pool with less room", 2, {}, queued, "", 1, false},
  };
  for (const SearchRow& row : rows) {
    World world = ZoneRace(row.width);
    api::ProvisioningStep& step = world.policy->steps.front();
    step.zones = row.zones;
    step.provisioning_class_name = row.provisioning_class;
    if (row.max_nodes > 0) {
      step.pool = {.name = "pool", .max_nodes = row.max_nodes, .node = {{"nvidia.com/gpu", 1}}};
    }
    if (!row.selected.empty()) {
      world.workload.spec.pod_sets.front()
          .pod_template.spec.node_selector["topology.kubernetes.io/zone"] = row.selected;
    }
    world.Settle();
    ASSERT_THAT(world.requests, SizeIs(1)) << row.name;
    EXPECT_EQ(world.requests.front().parameters.count("capacitySearchStrategy"),
              row.searches ? 1U : 0U)
        << row.name;
    world.Pass(600);
    world.Settle();
    EXPECT_THAT(world.requests, SizeIs(row.zones.size() > 1 ? 2 : 1)) << row.name;
  }
}

TEST(RaceTest, OverprovisionedZonesEmitAnEvent) {
  World world = ZoneRace();
  world.policy->steps.front().zones.clear();
  world.Settle();
  world.requests.front().provisioning_class_details = {{"SelectedZone", "a"},
                                                       {"OverprovisionedZones", "b,c"}};
  world.Provision();
  world.Settle();
  EXPECT_EQ(world.check().pod_set_updates.front().node_selector.at("topology.kubernetes.io/zone"),
            "a");
  EXPECT_THAT(world.events,
              ::testing::Contains(HasSubstr("OverprovisionedZones: dws-prov: nodes came in b,c, "
                                            "too; the job uses those in a")));
}

}  // namespace
}  // namespace berth::provisioning

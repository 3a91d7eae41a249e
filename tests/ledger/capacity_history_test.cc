// Goal: requests, waits, stock-outs and nodes lie in the parts of the period in which they were; a
// shape is that of the turn that asked; the lines are bounded.
//
// Method: requests with times; parts of 100 seconds.
#include "ledger/capacity_history.h"

#include <gmock/gmock.h>

#include "tests/ledger/records.h"

namespace berth::ledger {
namespace {

using test::Admitted;
using ::testing::ElementsAre;

CapacityRecord Asked(const std::string& uid, Seconds created) {
  return {.uid = uid,
          .namespace_name = "team-a",
          .name = "request-" + uid,
          .class_name = "dws",
          .workload = "job-" + uid,
          .created = created};
}

CapacityRecord Granted(CapacityRecord request, Seconds at) {
  request.provisioned = at;
  return request;
}

CapacityRecord Refused(CapacityRecord request, Seconds at, const std::string& reason) {
  request.ended = at;
  request.outcome = kFailed;
  request.reason = reason;
  return request;
}

CapacityHistory Made(const std::vector<CapacityRecord>& requests,
                     const std::vector<AttemptRecord>& attempts = {},
                     const std::vector<NodeTimeRecord>& nodes = {},
                     const std::vector<PoolSampleRecord>& samples = {}) {
  return MakeCapacityHistory({requests, attempts, nodes, samples}, {1000, 1200}, 2,
                             [](const std::string& reason) { return reason == "NoMachine"; });
}

TEST(CapacityHistoryTest, CountsOutcomesAndWaitsOfEachPart) {
  const CapacityHistory history =
      Made({Granted(Asked("a", 1000), 1010), Granted(Asked("b", 1000), 1090),
            Granted(Asked("c", 900), 1150), Refused(Asked("d", 1110), 1120, "NoMachine"),
            Refused(Asked("e", 1110), 1130, "Wrong"), Asked("f", 1199)});
  ASSERT_EQ(history.times.size(), 2U);
  EXPECT_EQ(history.times[0].from, 1000);
  EXPECT_EQ(history.times[1].to, 1200);
  ASSERT_EQ(history.classes.size(), 1U);
  EXPECT_EQ(history.classes[0].key, "dws");
  EXPECT_THAT(
      history.classes[0].parts,
      ElementsAre(CapacityCounts{.asked = 2, .provisioned = 2, .open = 1, .p50 = 10, .p90 = 90},
                  CapacityCounts{.asked = 3,
                                 .provisioned = 1,
                                 .failed = 2,
                                 .stockouts = 1,
                                 .open = 1,
                                 .p50 = 250,
                                 .p90 = 250}));
  EXPECT_EQ(history.left_out, 0);
}

TEST(CapacityHistoryTest, CountsRequestsAndTheirOutcomesByHourOfTheDay) {
  constexpr Seconds kDay = 24 * kHour;
  const CapacityHistory history = MakeCapacityHistory(
      {.requests = {Granted(Asked("a", 3 * kHour), 9 * kHour),
                    Granted(Asked("b", kDay + 3 * kHour + 59), 2 * kDay),
                    Refused(Asked("c", 4 * kHour - 1), 5 * kHour, "NoMachine"),
                    Refused(Asked("d", 23 * kHour), kDay, "Wrong"), Asked("outside", 2 * kDay),
                    Asked("waits", 5 * kHour)}},
      {0, 2 * kDay}, 8, [](const std::string& reason) { return reason == "NoMachine"; });
  ASSERT_EQ(history.shapes.size(), 1U);
  std::array<HourCounts, 24> expected{};
  expected[3] = {.answered = 3, .provisioned = 2, .stockouts = 1};
  expected[23] = {.answered = 1};
  EXPECT_EQ(history.shapes[0].hours, expected);
  EXPECT_EQ(history.classes[0].hours, expected);
}

TEST(CapacityHistoryTest, ShapeIsThatOfTheAttemptThatRequested) {
  std::vector<AttemptRecord> turns{Admitted("a", 900, 910, 1), Admitted("a", 1000, 1010, 2)};
  turns[1].resources = {{"t4", "berth.dev/gpus", 1'333'333}, {"t4", "nvidia.com/gpu", 4}};
  AttemptRecord plain = Admitted("b", 900, 910);
  plain.resources = {{"spot", "cpu", 1500}, {"spot", "memory", 1}};
  turns.push_back(plain);
  const CapacityHistory history =
      Made({Asked("a", 1000), Asked("a", 1100), Asked("b", 1000), Asked("unknown", 1000)}, turns);
  std::vector<std::string> shapes;
  for (const CapacityLine& line : history.shapes) shapes.push_back(line.key);
  EXPECT_THAT(shapes, ElementsAre("4 nvidia.com/gpu of t4", "", "1.5 cpu of spot"));
}

TEST(CapacityHistoryTest, NodesOfAPoolAreTheMeanOfEachPart) {
  const auto node = [](const char* id, const char* pool, Seconds from, Seconds until) {
    return NodeTimeRecord{
        .id = id, .pool = pool, .from = from, .until = until, .hourly_nano = 36'000};
  };
  const CapacityHistory history = Made({}, {},
                                       {node("1", "a100", 900, 1150), node("2", "a100", 1000, 1100),
                                        node("3", "t4", 1190, 1300), node("4", "gone", 500, 1000)});
  ASSERT_EQ(history.pools.size(), 2U);
  EXPECT_EQ(history.pools[0].pool, "a100");
  EXPECT_NEAR(history.pools[0].parts[0].standing, 2, 1e-9);
  EXPECT_NEAR(history.pools[0].parts[1].standing, 0.5, 1e-9);
  EXPECT_NEAR(history.pools[0].parts[0].cost_nano, 200 * 10, 1e-9);
  EXPECT_EQ(history.pools[0].parts[0].ready, std::nullopt) << "nothing was sampled";
  EXPECT_NEAR(history.pools[1].parts[0].standing, 0, 1e-9);
  EXPECT_NEAR(history.pools[1].parts[1].standing, 0.1, 1e-9);
}

// A part of 100 seconds has a sample of a minute, and a third of the next one.
TEST(CapacityHistoryTest, SamplesOfPoolsAreMeansOfEachPart) {
  const auto sample = [](Seconds from, std::int64_t ready, Seconds pods_known) {
    return PoolSampleRecord{.pool = "a100",
                            .from = from,
                            .span = 60,
                            .seconds = 60,
                            .ready = 60 * ready,
                            .booting = 60,
                            .idle = pods_known,
                            .idle_seconds = pods_known};
  };
  const CapacityHistory history =
      Made({}, {}, {}, {sample(1000, 4, 60), sample(1080, 1, 0), sample(1140, 1, 0)});
  ASSERT_EQ(history.pools.size(), 1U);
  const std::vector<PoolPart>& parts = history.pools[0].parts;
  EXPECT_NEAR(*parts[0].ready, (60 * 4 + 20 * 1) / 80.0, 1e-9);
  EXPECT_NEAR(*parts[0].booting, 1, 1e-9);
  EXPECT_NEAR(*parts[0].idle, 1, 1e-9);
  EXPECT_NEAR(*parts[1].ready, 1, 1e-9);
  EXPECT_EQ(parts[1].idle, std::nullopt) << "pods were not known";
}

TEST(CapacityHistoryTest, KeepsTheMostRequestedClassesAndCountsTheRest) {
  std::vector<CapacityRecord> requests;
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j <= i; ++j) {
      requests.push_back(Asked(std::to_string(i) + "." + std::to_string(j), 1000));
      requests.back().class_name = "class-" + std::to_string(i);
    }
  }
  const CapacityHistory history = Made(requests);
  ASSERT_EQ(history.classes.size(), kMostCapacityLines);
  EXPECT_EQ(history.classes.front().key, "class-19");
  EXPECT_EQ(history.classes.back().key, "class-8");
  EXPECT_EQ(history.left_out, 8);
}

}  // namespace
}  // namespace berth::ledger

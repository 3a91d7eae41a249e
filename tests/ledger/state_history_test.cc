// Goal: the numbers of workloads that waited, by cause, and ran are those of the time.
// Method: attempts with times in parts of 100 seconds; random attempts against a count second by
// second.
#include "ledger/state_history.h"

#include <gmock/gmock.h>

#include "base/random.h"
#include "tests/ledger/records.h"

namespace berth::ledger {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

AttemptRecord AttemptOf(Seconds queued, std::optional<Seconds> reserved,
                        std::optional<Seconds> admitted, std::optional<Seconds> ended,
                        std::vector<Wait> waits = {}) {
  AttemptRecord attempt;
  attempt.queued = queued;
  attempt.reserved = reserved;
  attempt.admitted = admitted;
  attempt.ended = ended;
  attempt.waits = std::move(waits);
  return attempt;
}

TEST(StateHistoryTest, EachStateCountsForItsTime) {
  StreamedStates states({1000, 1300}, 3);
  states.Add(AttemptOf(1050, 1100, 1150, 1250, {{1060, "quota"}}));
  const auto parts = states.Parts();
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_THAT(parts[0].waiting, ElementsAre(Pair("", 0.1), Pair("quota", 0.4)));
  EXPECT_EQ(parts[0].reserved, 0);
  EXPECT_THAT(parts[1].waiting, IsEmpty());
  EXPECT_EQ(parts[1].reserved, 0.5);
  EXPECT_EQ(parts[1].running, 0.5);
  EXPECT_EQ(parts[2].running, 0.5);
}

TEST(StateHistoryTest, WhatHasNotEndedGoesOn) {
  StreamedStates states({1000, 1300}, 3);
  states.Add(AttemptOf(10, 20, 30, std::nullopt));
  states.Add(
      AttemptOf(10, std::nullopt, std::nullopt, std::nullopt, {{10, "quota"}, {1150, "topology"}}));
  const auto parts = states.Parts();
  for (const StatePart& part : parts) EXPECT_EQ(part.running, 1);
  EXPECT_THAT(parts[0].waiting, ElementsAre(Pair("quota", 1)));
  EXPECT_THAT(parts[1].waiting, ElementsAre(Pair("quota", 0.5), Pair("topology", 0.5)));
  EXPECT_THAT(parts[2].waiting, ElementsAre(Pair("topology", 1)));
}

TEST(StateHistoryTest, UseIsWhatAdmittedAttemptsHeld) {
  StreamedStates states({1000, 1200}, 2);
  states.Add(test::Ended(test::Admitted("a", 1000, 1050), 1150, kSucceeded));
  states.Add(test::Pending("b"));
  const auto parts = states.Parts();
  using Used = std::map<std::string, api::Amount>;
  EXPECT_EQ(parts[0].used, (Used{{"cpu", 1000}, {"nvidia.com/gpu", 1}}));
  EXPECT_EQ(parts[1].used, (Used{{"cpu", 1000}, {"nvidia.com/gpu", 1}}));
}

TEST(StateHistoryTest, WhatEndedWithoutQuotaWaitedUntilThen) {
  StreamedStates states({1000, 1100}, 1);
  states.Add(AttemptOf(1000, std::nullopt, std::nullopt, 1050, {{1000, "quota"}}));
  states.Add(AttemptOf(900, std::nullopt, std::nullopt, 1000, {{900, "quota"}}));
  EXPECT_THAT(states.Parts()[0].waiting, ElementsAre(Pair("quota", 0.5)));
  EXPECT_EQ(states.Parts()[0].running, 0);
}

// Causes that the controller saw late, or twice, count no second twice.
TEST(StateHistoryTest, RandomAttemptsAgreeWithACountOfSeconds) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Period period{1000, 1000 + 1 + static_cast<Seconds>(random.Below(300))};
    StreamedStates states(period, 1 + static_cast<std::int64_t>(random.Below(9)));
    std::map<std::string, std::map<Seconds, int>> seconds;  // state or cause → second → number
    for (int i = 0; i < 20; ++i) {
      Seconds at = 950 + static_cast<Seconds>(random.Below(350));
      const auto later = [&]() -> Seconds { return at += static_cast<Seconds>(random.Below(90)); };
      AttemptRecord attempt = AttemptOf(at, {}, {}, {});
      attempt.waits = {{later(), "quota"}, {later(), "flavor"}};
      if (random.Below(4) > 0) attempt.reserved = later();
      if (attempt.reserved && random.Below(4) > 0) attempt.admitted = later();
      if (random.Below(2) > 0) attempt.ended = later();
      states.Add(attempt);
      for (Seconds now = period.from; now < period.to; ++now) {
        if (now < attempt.queued || (attempt.ended && now >= *attempt.ended)) continue;
        std::string state = now < attempt.waits[0].since   ? "waits "
                            : now < attempt.waits[1].since ? "waits quota"
                                                           : "waits flavor";
        if (attempt.reserved && now >= *attempt.reserved) state = "reserved";
        if (attempt.admitted && now >= *attempt.admitted) state = "running";
        ++seconds[state][now];
      }
    }
    const auto parts = states.Parts();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Period& time = states.times()[i];
      const auto mean = [&](const std::string& state) {
        double sum = 0;
        for (Seconds now = time.from; now < time.to; ++now) sum += seconds[state][now];
        return sum / static_cast<double>(time.to - time.from);
      };
      constexpr double kFar = 1e-9;
      EXPECT_THAT(parts[i].running, DoubleNear(mean("running"), kFar));
      EXPECT_THAT(parts[i].reserved, DoubleNear(mean("reserved"), kFar));
      for (const char* cause : {"", "quota", "flavor"}) {
        const auto found = parts[i].waiting.find(cause);
        const double waiting = found == parts[i].waiting.end() ? 0 : found->second;
        EXPECT_THAT(waiting, DoubleNear(mean(std::string("waits ") + cause), kFar)) << cause;
      }
    }
  }
}

}  // namespace
}  // namespace berth::ledger

// Goal: usage and waits of a queue lie in the parts of the period in which they were.
//
// Method: attempts with times; parts of 100 seconds.
#include "ledger/queue_history.h"

#include <gtest/gtest.h>

#include "tests/ledger/records.h"

namespace berth::ledger {
namespace {

using test::Admitted;
using test::Ended;
using test::Pending;

TEST(QueueHistoryTest, CountsWaitsUsageAndPreemptionsOfEachPart) {
  const std::vector<AttemptRecord> attempts{Ended(Admitted("a", 1000, 1010), 1150, kSucceeded),
                                            Ended(Admitted("b", 1000, 1050), 1120, kPreempted),
                                            Admitted("c", 1000, 1090), Pending("d")};
  const auto parts = MakeQueueHistory(attempts, {1000, 1200}, 2);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].from, 1000);
  EXPECT_EQ(parts[0].to, 1100);
  EXPECT_EQ(parts[0].admitted, 3);
  EXPECT_EQ(parts[0].p50, 50);
  EXPECT_EQ(parts[0].p90, 90);
  EXPECT_EQ(parts[0].used.at("cpu"), 2000 * (90 + 50 + 10) / 100);
  EXPECT_EQ(parts[0].preempted, 0);
  EXPECT_EQ(parts[1].preempted, 1);
  EXPECT_EQ(parts[1].admitted, 0);
  EXPECT_FALSE(parts[1].p50.has_value());
  EXPECT_EQ(parts[1].used.at("cpu"), 2000 * (50 + 20 + 100) / 100);
}

TEST(QueueHistoryTest, AttemptsOutsideThePeriodDoNotCount) {
  const std::vector<AttemptRecord> attempts{Ended(Admitted("a", 10, 20), 30, kSucceeded),
                                            Admitted("b", 990, 2000)};
  for (const HistoryPart& part : MakeQueueHistory(attempts, {1000, 1200}, 7)) {
    EXPECT_EQ(part.admitted, 0);
    EXPECT_TRUE(part.used.empty());
  }
  EXPECT_EQ(MakeQueueHistory({}, {1000, 1003}, 10).size(), 3U);
}

TEST(QueueHistoryTest, QuotaOfAPartIsThatAtItsEnd) {
  const std::vector<QuotaRecord> quotas{
      {"a", "cpu", 1050, 8}, {"a", "cpu", 1150, 4}, {"a", "cpu", 1300, 0}, {"a", "gpu", 1200, 2}};
  auto parts = MakeQueueHistory({}, {1000, 1400}, 4);
  AddQuotas(quotas, parts);
  using Quota = std::map<std::string, api::Amount>;
  EXPECT_EQ(parts[0].quota, (Quota{{"cpu", 8}}));
  EXPECT_EQ(parts[1].quota, (Quota{{"cpu", 4}, {"gpu", 2}}));
  EXPECT_EQ(parts[2].quota, (Quota{{"gpu", 2}}));
  EXPECT_EQ(parts[3].quota, (Quota{{"gpu", 2}}));
}

TEST(QueueHistoryTest, QuotasOfQueuesAddUp) {
  const std::vector<QuotaRecord> quotas{
      {"a", "cpu", 1000, 8}, {"b", "cpu", 900, 3}, {"b", "cpu", 1150, 5}, {"b", "gpu", 10, 1}};
  const auto sums = QuotaSums(quotas, {{1000, 1100}, {1100, 1200}});
  using Quota = std::map<std::string, api::Amount>;
  EXPECT_EQ(sums, (std::vector<Quota>{{{"cpu", 11}, {"gpu", 1}}, {{"cpu", 13}, {"gpu", 1}}}));
}

}  // namespace
}  // namespace berth::ledger

// Goal: the policy of a queue is read from its annotations or refused with the annotation's name,
// and a Cohort decides what a queue does not say. Method: rows.
#include "api/queue_policy.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

TEST(QueuePolicyTest, RejectsInvalidAnnotations) {
  struct Row {
    const char* annotation;
    const char* value;
    const char* message;
  };
  for (const Row& row : {
           Row{kOrderAnnotation, "shortest",
               "berth.dev/order: \"shortest\" is not one of: Fifo, ShortestFirst, FairByUser"},
           Row{kReserveAfterAnnotation, "3 days",
               "berth.dev/reserve-after: \"3 days\" is not one of: off, auto, a duration such as "
               "72h"},
           Row{kReserveCountAnnotation, "0",
               "berth.dev/reserve-count: \"0\" is not one of: 1 to 16"},
           Row{kReserveCountAnnotation, "17",
               "berth.dev/reserve-count: \"17\" is not one of: 1 to 16"},
           Row{kDeadlinesAnnotation, "on",
               "berth.dev/deadlines: \"on\" is not one of: off, a duration such as 30m"},
           Row{kVictimsAnnotation, "Oldest",
               "berth.dev/victims: \"Oldest\" is not one of: Newest, LeastWorkLost"},
           Row{kPreemptionPatienceAnnotation, "soon",
               "berth.dev/preemption-patience: \"soon\" is not one of: off, a duration such as "
               "30m"},
           Row{kReclaimMinRunAnnotation, "-5m",
               "berth.dev/reclaim-min-run: \"-5m\" is not one of: off, a duration such as 30m"},
       }) {
    const auto policy = ReadQueuePolicy({{row.annotation, row.value}});
    ASSERT_FALSE(policy) << row.value;
    EXPECT_EQ(policy.error().message, row.message);
  }
}

TEST(QueuePolicyTest, CohortsPolicyFillsTheQueuesMissingFields) {
  const auto queue = ReadQueuePolicy({{kReserveAfterAnnotation, "off"}});
  const auto cohort = ReadQueuePolicy({{kOrderAnnotation, "ShortestFirst"},
                                       {kReserveAfterAnnotation, "72h"},
                                       {kReserveCountAnnotation, "2"}});
  ASSERT_TRUE(queue && cohort);
  const QueuePolicy both = queue->Within(*cohort);
  EXPECT_EQ(both.order, QueueOrder::kShortestFirst);
  EXPECT_EQ(both.reserve_after, ReserveAfter{});
  EXPECT_EQ(both.reserve_count, 2);
  EXPECT_EQ(cohort->reserve_after,
            (ReserveAfter{ReserveAfter::Rule::kTime, std::chrono::hours(72)}));
}

TEST(QueuePolicyTest, QueueMaySwitchOffItsCohortsPolicy) {
  const auto queue = ReadQueuePolicy({{kPreemptionPatienceAnnotation, "off"}});
  const auto cohort = ReadQueuePolicy({{kPreemptionPatienceAnnotation, "30m"},
                                       {kVictimsAnnotation, "LeastWorkLost"},
                                       {kPreemptMinRunAnnotation, "2m"}});
  ASSERT_TRUE(queue && cohort);
  const QueuePolicy both = queue->Within(*cohort);
  EXPECT_EQ(both.preemption_patience, Duration::zero());
  EXPECT_EQ(both.victims, VictimChoice::kLeastWorkLost);
  EXPECT_EQ(both.preempt_min_run, std::chrono::minutes(2));
}

TEST(QueuePolicyTest, WithoutAnnotationsThereIsNoPolicy) {
  const auto policy = ReadQueuePolicy({{"other", "x"}});
  ASSERT_TRUE(policy);
  EXPECT_EQ(*policy, QueuePolicy{});
}

}  // namespace
}  // namespace berth::api

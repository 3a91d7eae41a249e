// Goal: the answers of pods' programs hold no more memory than their limits, whoever sends slowly.
// Method: pieces are given by hand, with the time.
#include "local/apiserver/http/collected_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::local {
namespace {

using ::testing::HasSubstr;

const AnswerLimits kLimits{.of_one = 10, .of_all = 15, .time = std::chrono::seconds(60)};

TEST(CollectedAnswer, TakeReturnsTheWholeAnswerAndReleasesItsRoom) {
  const auto room = std::make_shared<AnswerRoom>(kLimits);
  CollectedAnswer answer(room, {});
  answer.SetHead(203, {{"X-Own", "yes"}});
  EXPECT_FALSE(answer.Add("12345", {}));
  EXPECT_FALSE(answer.Add("67890", {}));
  EXPECT_EQ(room->held(), 10U);
  const net::Response response = answer.Take();
  EXPECT_EQ(response.status, 203);
  EXPECT_EQ(response.body, "1234567890");
  EXPECT_EQ(response.headers.Find("X-Own"), "yes");
  EXPECT_EQ(room->held(), 0U);
}

TEST(CollectedAnswer, AnswerAboveALimitIsRefused) {
  const auto room = std::make_shared<AnswerRoom>(kLimits);
  CollectedAnswer one(room, {});
  EXPECT_FALSE(one.Add("12345678", {}));
  {
    CollectedAnswer two(room, {});
    EXPECT_FALSE(two.Add("1234567", {}));
    const auto full = two.Add("8", {});
    ASSERT_TRUE(full);
    EXPECT_EQ(full->code, 503);
    EXPECT_THAT(full->message, HasSubstr("larger than 15 bytes together, try again later"));
    EXPECT_EQ(room->held(), 8U);
    EXPECT_FALSE(two.Add("again", {}));
  }
  EXPECT_EQ(room->held(), 8U) << "what ends leaves the room";
  const auto large = one.Add("901", {});
  ASSERT_TRUE(large);
  EXPECT_THAT(large->message, HasSubstr("larger than 10 bytes"));
  CollectedAnswer slow(room, {});
  EXPECT_FALSE(slow.Add("1", SteadyTime(std::chrono::seconds(60))));
  const auto late = slow.Add("2", SteadyTime(std::chrono::seconds(61)));
  ASSERT_TRUE(late);
  EXPECT_THAT(late->message, HasSubstr("took more than 60 s"));
  EXPECT_EQ(room->held(), 0U);
}

}  // namespace
}  // namespace berth::local

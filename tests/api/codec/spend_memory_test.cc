// Goal: a spend memory reads as it is written; what others have written is bounded.
#include "api/codec/spend_memory.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

TEST(SpendMemoryTest, ReadsAsItIsWritten) {
  const QueueSpend spend{
      {20'000, {.charges = {{"a", 1}, {"b", 14'000'000'000}}, .folded = 3}},
      {20'001, {}},
  };
  const auto read = DecodeSpend(EncodeSpend(spend));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, spend);
  EXPECT_EQ(EncodeSpend({}), R"({"days":[]})");
}

TEST(SpendMemoryTest, NegativeAmountsAreReadAsZero) {
  const auto read =
      DecodeSpend(R"({"days": [{"day": 1, "folded": -5, "charges": {"a": -7}}, {"day": 1}]})");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, (QueueSpend{{1, {.charges = {{"a", 0}}}}})) << "the first of a day is kept";
}

TEST(SpendMemoryTest, RejectsTextsThatAreNoMemory) {
  EXPECT_FALSE(DecodeSpend("{]"));
  EXPECT_FALSE(DecodeSpend(R"({"days": [{"charges": {"a": "much"}}]})"));
  EXPECT_FALSE(DecodeSpend("[" + std::string(200'001, ',') + "]"));
}

}  // namespace
}  // namespace berth::api

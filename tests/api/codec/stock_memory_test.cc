// Goal: a stock memory reads as it is written; what others have written is sorted and bounded.
#include "api/codec/stock_memory.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

constexpr WallTime kAt{std::chrono::seconds(1'700'000'000)};

TEST(StockMemoryTest, ReadsAsItIsWritten) {
  const ClassStock stock{
      {.key = {.shape = "nvidia.com/gpu=1", .size = 1}},
      {.key = {.flavor = "spot", .zone = "b", .shape = "nvidia.com/gpu=8", .size = 17},
       .strikes = 3,
       .rest_until = kAt,
       .reason = "ResourcePoolExhausted",
       .outcomes = {{"a", kAt, 30, 20, StockResult::kGranted},
                    {"b", kAt, 600, 20, StockResult::kTimeout}}}};
  const auto read = DecodeStock(EncodeStock(stock));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, stock);
  EXPECT_EQ(EncodeStock({}), R"({"entries":[]})");
}

TEST(StockMemoryTest, EntriesAreReadSortedAndWithoutDuplicates) {
  const auto read =
      DecodeStock(R"({"entries": [{"shape": "b", "size": 1}, {"shape": "a", "size": 1},
                                                {"shape": "b", "size": 1, "strikes": 9}]})");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].key.shape, "a");
  EXPECT_EQ((*read)[1].strikes, 0) << "the first is kept";
}

TEST(StockMemoryTest, RejectsTextsThatAreNoMemory) {
  EXPECT_FALSE(DecodeStock("{]"));
  EXPECT_FALSE(DecodeStock(R"({"entries": [{"outcomes": [{"result": "lucky"}]}]})"));
  EXPECT_FALSE(DecodeStock("[" + std::string(200'001, ',') + "]"));
}

}  // namespace
}  // namespace berth::api

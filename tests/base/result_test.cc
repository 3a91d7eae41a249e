// Goal: a Result hands out the side it has, and BERTH_TRY passes errors on unchanged.
#include "base/result.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

Result<int> Half(int number) {
  if (number % 2 != 0) return Error{ErrorCode::kInvalid, "odd"};
  return number / 2;
}

Result<int> Quarter(int number) {
  BERTH_TRY(const int half, Half(number));
  return Half(half);
}

Status CheckQuarter(int number) {
  BERTH_CHECK_OK(Quarter(number));
  return OkStatus();
}

TEST(Result, TryPassesValuesAndErrors) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).error(), (Error{ErrorCode::kInvalid, "odd"}));
  EXPECT_TRUE(CheckQuarter(8).has_value());
  EXPECT_FALSE(CheckQuarter(5).has_value());
}

TEST(ResultDeathTest, ReadingTheMissingSideAborts) {
  const Result<int> odd = Half(1);
  EXPECT_DEATH(static_cast<void>(*odd), "");
}

}  // namespace
}  // namespace berth

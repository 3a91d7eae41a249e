// Goal: percent escapes have two digits each, for every byte that is not allowed.
#include "base/percent.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(PercentEncodeTest, EscapesCharactersThatAreNotListed) {
  EXPECT_EQ(PercentEncode("aZ09-._~ /%+\xc3\xbc", "-._~"), "aZ09-._~%20%2F%25%2B%C3%BC");
  EXPECT_EQ(PercentEncode("a/b", "/"), "a/b");
  EXPECT_EQ(PercentEncode(std::string(1, '\0'), ""), "%00");
  EXPECT_EQ(PercentEncode("", ""), "");
}

}  // namespace
}  // namespace berth

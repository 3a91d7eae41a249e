// Goal: the text helpers hold at their edges.
#include "base/strings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/concat.h"

namespace berth {
namespace {

TEST(Strings, ConcatJoinsAllParts) {
  EXPECT_EQ(Concat({}), "");
  EXPECT_EQ(Concat({"a", "", std::string("bc")}), "abc");
}

TEST(Strings, SplitKeepsEmptyParts) {
  EXPECT_THAT(Split("a,,b", ','), testing::ElementsAre("a", "", "b"));
  EXPECT_THAT(Split("", ','), testing::ElementsAre(""));
}

TEST(Strings, ParseInt64TakesTheWholeTextOnly) {
  EXPECT_EQ(ParseInt64("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(ParseInt64("+7"), 7);
  for (const char* text : {"", "+", "-", "+-1", "1 ", "0x1", "9223372036854775808"}) {
    EXPECT_FALSE(ParseInt64(text).has_value()) << text;
  }
}

TEST(Strings, TruncateNeverCutsASequence) {
  EXPECT_EQ(TruncateUtf8("aé", 2), "a");
  EXPECT_EQ(TruncateUtf8("aé", 3), "aé");
}

TEST(Strings, Base64RoundTrips) {
  EXPECT_EQ(Base64Encode("f"), "Zg==");
  EXPECT_EQ(Base64Encode("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64Decode("Zm9v\nYmE="), "fooba");
  EXPECT_FALSE(Base64Decode("Z").has_value());
  EXPECT_FALSE(Base64Decode("Zg==Zg").has_value());
  EXPECT_EQ(Base64UrlEncode("\xff\xfe"), "__4");
  EXPECT_EQ(Base64UrlDecode("__4"), "\xff\xfe");
}

TEST(Strings, EditDistanceCountsEdits) {
  EXPECT_EQ(EditDistance("trian", "train"), 2U);
  EXPECT_EQ(EditDistance("", "abc"), 3U);
}

TEST(Strings, InvalidUtf8IsReplacedByteByByte) {
  for (const std::string good : {"", "a", "é", "日本", "\xF0\x9F\x98\x80", "\xEF\xBF\xBD"}) {
    EXPECT_TRUE(IsValidUtf8(good)) << good;
    EXPECT_EQ(ReplaceInvalidUtf8(good), good);
  }
  const std::string mark = "\xEF\xBF\xBD";
  const std::vector<std::pair<std::string, std::string>> rows{
      {"a\xFFz", "a" + mark + "z"},
      {"\xC3", mark},
      {"\xC0\xAF", mark + mark},
      {"\xED\xA0\x80", mark + mark + mark},
      {"\xF4\x90\x80\x80", mark + mark + mark + mark},
      {"\xE6\x97 x", mark + mark + " x"}};
  for (const auto& [bad, want] : rows) {
    EXPECT_FALSE(IsValidUtf8(bad));
    EXPECT_EQ(ReplaceInvalidUtf8(bad), want);
  }
}

}  // namespace
}  // namespace berth

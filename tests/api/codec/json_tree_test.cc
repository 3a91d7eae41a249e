// Goal: every text gives an error, or a tree that is safe for recursion.
#include "api/codec/json_tree.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace berth::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

std::string Nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(JsonTreeTest, ReadsTheSameTextsAsNlohmann) {
  for (const char* text : {"null", "true", "0", "-1", "1.5", "18446744073709551615",
                           "18446744073709551616", "-9223372036854775808", R"("a\u0000é\n")", "[]",
                           "{}", R"({"a":[1,{"b":[]},"x"],"":{"c":null}})", " [1 , 2] \n"}) {
    const Result<Json> value = ParseJson(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(*value, Json::parse(text)) << text;
    EXPECT_EQ(value->dump(), Json::parse(text).dump()) << text;
  }
  for (const char* text :
       {"", "{", "[1,]", "nul", "1 2", "\"\xff\"", "1e999", "{\"a\" 1}", "\xef"}) {
    EXPECT_FALSE(ParseJson(text)) << text;
    EXPECT_TRUE(ParseJsonOrNull(text).is_null()) << text;
  }
}

TEST(JsonTreeTest, BoundsDepthAndValues) {
  EXPECT_TRUE(ParseJson(Nested(256)));
  EXPECT_THAT(ParseJson(Nested(257)).error().message, HasSubstr("deeper than 256"));
  EXPECT_FALSE(ParseJson(std::string(1'000'000, '[')));
  EXPECT_FALSE(ParseJson(Nested(4), {.max_depth = 3}));
  EXPECT_TRUE(ParseJson("[1,2]", {.max_values = 3}));
  EXPECT_THAT(ParseJson("[1,2]", {.max_values = 2}).error().message, HasSubstr("2 values"));
}

TEST(JsonTreeTest, TheLastOfTwoKeysWinsAndIsReported) {
  std::vector<std::string> duplicates;
  const Result<Json> value =
      ParseJson(R"({"a":[0,{"b":{"x":1},"b":{"y":2},"b":3}],"c":1,"c":[]})", {}, &duplicates);
  ASSERT_TRUE(value);
  EXPECT_EQ(*value, Json::parse(R"({"a":[0,{"b":3}],"c":[]})"));
  EXPECT_THAT(duplicates, ElementsAre("a[1].b", "a[1].b", "c"));
}

TEST(JsonTreeTest, MeasuresTreesOfAnyDepth) {
  const auto measure = [](const Json& value) {
    const JsonMeasure m = MeasureJson(value);
    return std::vector<std::size_t>{m.depth, m.bytes, m.values};
  };
  EXPECT_THAT(measure(7), ElementsAre(0, 1, 1));
  EXPECT_THAT(measure("x"), ElementsAre(0, 3, 1));
  for (const char* text :
       {"[]", "{}", "[1]", "[1,2]", R"({"a":1})", R"({"a":{"b":[true]},"c":null})"}) {
    EXPECT_EQ(MeasureJson(Json::parse(text)).bytes, std::string_view(text).size()) << text;
  }
  EXPECT_EQ(MeasureJson(Json::parse(R"({"a":[[]],"b":1})")).depth, 3U);
  Json deep;
  for (int i = 0; i < 300'000; ++i) {
    Json outer = Json::array();
    outer.push_back(std::move(deep));
    deep = std::move(outer);
  }
  EXPECT_EQ(MeasureJson(deep).depth, 300'000U);
}

}  // namespace
}  // namespace berth::api

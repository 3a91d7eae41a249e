// Goal: the writers write what nlohmann's dump() writes, and never throw.
// Method: values with every byte and every kind of number; trees drawn from a fixed seed; texts
// that are not UTF-8 beside the texts that replace them.
#include "api/codec/json_write.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace berth::api {
namespace {

using Json = nlohmann::json;

void ExpectSame(const Json& value) {
  std::string written = "before ";
  AppendJson(written, value);
  const std::string dumped = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  EXPECT_EQ(written, "before " + dumped);
  EXPECT_EQ(FormatJson(value), dumped);
  for (const int blanks : {1, 2}) {
    EXPECT_EQ(FormatIndentedJson(value, blanks),
              value.dump(blanks, ' ', false, Json::error_handler_t::replace));
  }
}

TEST(JsonWriteTest, WritesScalarsAndEmptyContainers) {
  for (const Json& value :
       {Json(), Json(true), Json(false), Json(0), Json(-1),
        Json(std::numeric_limits<std::int64_t>::min()),
        Json(std::numeric_limits<std::uint64_t>::max()), Json(1.5), Json(-0.0), Json(1e300),
        Json(3.0), Json(std::nan("")), Json(INFINITY), Json(""), Json::object(), Json::array()}) {
    ExpectSame(value);
  }
}

TEST(JsonWriteTest, WritesEveryByteInStringsAndKeys) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = "a" + std::string(1, static_cast<char>(byte)) + "b";
    ExpectSame(text);
    ExpectSame({{text, text}});
  }
  for (const char* text : {"é", "日本", "\xf0\x9f\x98\x80", "\xc3", "\xed\xa0\x80", "a\xffz\"\n"}) {
    ExpectSame(text);
  }
}

// A tree of at most `depth` levels.
Json DrawTree(std::mt19937& random, int depth) {
  switch (random() % (depth > 0 ? 8 : 6)) {
    case 0: return nullptr;
    case 1: return random() % 2 == 0;
    case 2: return static_cast<std::int64_t>(random()) - (1LL << 31);
    case 3: return static_cast<double>(random()) / 7;
    case 4: return std::string(random() % 20, static_cast<char>(random() % 256));
    case 5: return std::uint64_t{random()} << (random() % 33);
    case 6: {
      Json array = Json::array();
      for (unsigned i = random() % 4; i > 0; --i) array.push_back(DrawTree(random, depth - 1));
      return array;
    }
    default: {
      Json object = Json::object();
      for (unsigned i = random() % 4; i > 0; --i) {
        object[std::string(i, static_cast<char>('a' + random() % 26))] =
            DrawTree(random, depth - 1);
      }
      return object;
    }
  }
}

TEST(JsonWriteTest, RandomTreesAreWrittenAsByDump) {
  std::mt19937 random(7);
  for (int i = 0; i < 5000; ++i) ExpectSame(DrawTree(random, 5));
}

TEST(JsonWriteTest, BadBytesAreReplaced) {
  const std::string bad = "a\xff\xc3z";
  const std::string replaced = "a\xef\xbf\xbd\xef\xbf\xbdz";
  const Json tree = {{bad, {bad}}};
  ASSERT_THROW((void)tree.dump(), Json::type_error);
  EXPECT_EQ(FormatJson(bad), "\"" + replaced + "\"");
  EXPECT_EQ(FormatJson(tree), "{\"" + replaced + "\":[\"" + replaced + "\"]}");
  EXPECT_EQ(FormatIndentedJson(tree), Json({{replaced, {replaced}}}).dump(2));
  const nlohmann::ordered_json ordered = {{"z", bad}, {"a", 1}};
  EXPECT_EQ(FormatOrderedJson(ordered), "{\"z\":\"" + replaced + "\",\"a\":1}");
}

TEST(JsonWriteTest, ValidTreesAreWrittenAsByDump) {
  const Json tree = {{"z", {1, -2, 1.5, "é\n\"", nullptr}}, {"a", {{"b", true}}}};
  EXPECT_EQ(FormatJson(tree), tree.dump());
  EXPECT_EQ(FormatIndentedJson(tree), tree.dump(2));
  const nlohmann::ordered_json ordered = {{"z", 1}, {"a", {{"y", 2}, {"b", "é"}}}};
  EXPECT_EQ(FormatOrderedJson(ordered), ordered.dump());
  EXPECT_EQ(FormatOrderedJson(ordered, 2), ordered.dump(2));
}

TEST(JsonPrinterTest, PrintsTheSameTextAsATree) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const Json tree = {{"a", Json::array()},
                     {"b", Json::object()},
                     {"c", {{{"x", nullptr}, {"y", true}}, 1.5, {"quote \" and \n and ü", false}}},
                     {"d", kLeast},
                     {"e", kMost},
                     {"f", 1.0}};
  JsonPrinter out;
  out.Open('{');
  out.Key("a");
  out.Open('[');
  out.Close(']');
  out.Key("b");
  out.Open('{');
  out.Close('}');
  out.Key("c");
  out.Open('[');
  out.Open('{');
  out.Key("x");
  out.Null();
  out.Key("y");
  out.Flag(true);
  out.Close('}');
  out.Real(1.5);
  out.Open('[');
  out.Text("quote \" and \n and ü");
  out.Flag(false);
  out.Close(']');
  out.Close(']');
  out.Key("d");
  out.Number(kLeast);
  out.Key("e");
  out.Number(kMost);
  out.Key("f");
  out.Real(1);
  out.Close('}');
  EXPECT_EQ(out.Take(), tree.dump(2));
}

TEST(JsonPrinterTest, PrintsASingleValue) {
  JsonPrinter out;
  out.Text("alone");
  EXPECT_EQ(out.Take(), "\"alone\"");
}

}  // namespace
}  // namespace berth::api

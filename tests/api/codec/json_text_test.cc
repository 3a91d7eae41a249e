// Goal: the nodes of a JSON text have the content of its tree, and a text is
// accepted only if its tree is. Method: rows, and randomly broken texts, read both
// ways.

#include "api/codec/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "base/random.h"

namespace berth::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = JsonNode::Kind;

Json ToTree(const JsonNode& node) {
  switch (node.kind) {
    case Kind::kString: return std::string(node.text);
    case Kind::kArray: {
      Json array = Json::array();
      node.Each([&](const JsonNode& item) { array.push_back(ToTree(item)); });
      return array;
    }
    case Kind::kObject: {
      Json object = Json::object();
      node.Each([&](const JsonNode& item) { object[std::string(item.key)] = ToTree(item); });
      return object;
    }
    default: return Json::parse(node.text);
  }
}

// Expects equal results of both readers for `text`.
void ExpectAlike(const std::string& text) {
  JsonText read;
  const Result<const JsonNode*> root = read.Parse(text);
  const Json tree = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  ASSERT_EQ(root.has_value(), !tree.is_discarded()) << text;
  if (root) {
    EXPECT_EQ(ToTree(**root), tree) << text;
  }
}

TEST(JsonText, ReadsValidTextsAsTheTreeReaderDoes) {
  for (const char* text :
       {"{}", "[]", " [ 1 , -2 , 0 , -0 ] ", "null", " null\n", "true", "false", R"("a")", "1.5e-3",
        "1E+2", R"({"a":{"b":[{"c":null},[],{}]},"d":"e"})", R"({"a":1,"a":2})",
        R"("\"\\\/\b\f\n\r\t")", R"("\u00e9\u20AC\ud83d\uDE00 \u0000")", R"({"k\u0065y":"v"})",
        "\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"", "12345678901234567890",
        "123456789012345678901234567890", "\t\r\n{\"a\"\n:\t1\r}"}) {
    ExpectAlike(text);
  }
}

TEST(JsonText, RejectsInvalidTextsAsTheTreeReaderDoes) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "[",
                           "}",
                           "[1",
                           "[1,",
                           "[1,]",
                           "[,1]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{\"a\" 1}",
                           "[1 2]",
                           "tru",
                           "nul",
                           "nulll",
                           "null x",
                           "null null",
                           "[nul]",
                           "truex",
                           "truel",
                           "falsel",
                           "false x",
                           "fals",
                           "01",
                           "-",
                           "1.",
                           ".5",
                           "1e",
                           "1e+",
                           "+1",
                           "0x1",
                           "NaN",
                           "'a'",
                           "\"a",
                           "\"a\nb\"",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\u12g4\"",
                           "\"\\ud800\"",
                           "\"\\ud800x\"",
                           "\"\\ud800\\u0041\"",
                           "\"\\udc00\"",
                           "\"\\",
                           "{} {}",
                           "[]]",
                           "\"\xC0\xAF\"",
                           "\"\xED\xA0\x80\"",
                           "\"\xF4\x90\x80\x80\"",
                           "\"\xFF\"",
                           "\"\xE2\x82\"",
                           "\"\xC3",
                           "\"\x80\"",
                           "{\"\xC3\":1}"}) {
    ExpectAlike(text);
  }
}

TEST(JsonText, RandomlyBrokenTextsAreReadAsByTheTreeReader) {
  const std::string whole =
      R"({"metadata":{"name":"w\u00e9","labels":{"a/b":"c\n","d":"\"e\""}},"spec":{"active":true,)"
      R"("podSets":[{"count":2,"x":[1,-2.5e3,null,false]},{}],"s":"é€😀"},"status":{}} )";
  Random random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = whole;
    for (std::uint64_t change = random.Below(3); change != UINT64_MAX; --change) {
      const std::size_t at = random.Below(text.size());
      switch (random.Below(3)) {
        case 0: text.erase(at, 1 + random.Below(3)); break;
        case 1: text[at] = "{}[]\",:\\u0e-. \xC3\x80"[random.Below(17)]; break;
        default: text.insert(at, 1, text[random.Below(text.size())]);
      }
    }
    ASSERT_NO_FATAL_FAILURE(ExpectAlike(text));
  }
}

// The tree's parser takes NUL as the end.
TEST(JsonText, NulByteDoesNotEndTheText) {
  JsonText text;
  EXPECT_FALSE(text.Parse(std::string("{}\0", 3)));
  EXPECT_FALSE(text.Parse(std::string("{\"a\":1}\0{}", 10)));
}

TEST(JsonText, IsReusableForSeveralTexts) {
  JsonText text;
  for (const char* each : {R"({"a":["b","\u0063"]})", "[1]", R"("d")"}) {
    const auto root = text.Parse(each);
    ASSERT_TRUE(root) << root.error().message;
    EXPECT_EQ(ToTree(**root), Json::parse(each));
    EXPECT_FALSE(text.Parse("{"));
  }
}

TEST(JsonText, DepthIsLimited) {
  JsonText text;
  const std::string deep = std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']');
  EXPECT_TRUE(text.Parse(deep));
  const auto deeper = text.Parse("[" + deep + "]");
  ASSERT_FALSE(deeper);
  EXPECT_EQ(deeper.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(deeper.error().message, HasSubstr("at byte 256"));
  EXPECT_FALSE(text.Parse(std::string(1'000'000, '[')));
}

// An object with managedFields at every level; those of its own metadata are `managed`.
std::string WithManagedFields(const std::string& managed) {
  return R"({"managedFields":1,"metadata":{"name":"n",)" + managed +
         R"("labels":{"managedFields":"l"},"annotations":{"metadata":{"managedFields":2}}},)"
         R"("spec":{"managedFields":[3],"metadata":{"managedFields":4},"template":{"metadata":)"
         R"({"managedFields":[5]}},"object":{"metadata":{"managedFields":6}}},)"
         R"("list":[{"metadata":{"managedFields":7}}]})";
}

TEST(JsonText, ManagedFieldsOfAnObjectAreLeftOut) {
  const std::string with = WithManagedFields(
      R"("managedFields":[{"f:x\"]}":{"k:{\"type\":\"a\"}":{}}},[],"]"],"managed\u0046ields":{},)");
  const Json without = Json::parse(WithManagedFields(""));
  JsonText text;
  auto root = text.Parse(with);
  ASSERT_TRUE(root) << root.error().message;
  EXPECT_EQ(ToTree(**root), without);
  root = text.Parse(R"({"type":"ADDED","object":)" + with + "}");
  ASSERT_TRUE(root) << root.error().message;
  EXPECT_EQ(ToTree(**root), (Json{{"type", "ADDED"}, {"object", without}}));
  Json items = Json::array();
  ASSERT_TRUE(text.ReadList(R"({"items":[)" + with + "," + with + "]}",
                            [&](const JsonNode& item) { items.push_back(ToTree(item)); }));
  EXPECT_EQ(items, (Json{without, without}));
  for (const char* bad :
       {R"("managedFields":[)", R"("managedFields":[{]}],)", R"("managedFields":["a,)",
        R"("managedFields":)", R"("managedFields",)", R"("managedFields":{"a":[1,2],)"}) {
    EXPECT_FALSE(text.Parse(WithManagedFields(bad))) << bad;
  }
  EXPECT_FALSE(text.Parse(R"({"metadata":{"managedFields":[})"));
  EXPECT_FALSE(text.Parse(R"({"metadata":{"managedFields":)"));
}

TEST(JsonText, ReadsListsItemByItem) {
  std::vector<std::string> names;
  const auto take = [&](const JsonNode& item) { names.push_back(ToTree(item).dump()); };
  auto head =
      JsonText().ReadList(R"({"kind":"List","metadata":{"resourceVersion":"7","continue":"abc"},
                               "items":[{"a":1},{"b":"\u0041"},null]} )",
                          take);
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->resource_version, "7");
  EXPECT_EQ(head->continue_token, "abc");
  EXPECT_THAT(names, ElementsAre(R"({"a":1})", R"({"b":"A"})", "null"));
  names.clear();
  head = JsonText().ReadList(R"({"items":[],"metadata":{"resourceVersion":"8"}})", take);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->resource_version, "8");
  EXPECT_EQ(head->continue_token, "");
  EXPECT_TRUE(JsonText().ReadList(R"({"items":null})", take));
  EXPECT_TRUE(JsonText().ReadList("{}", take));
  EXPECT_TRUE(names.empty());
  for (const char* bad :
       {"", "[]", "1", R"({"items":[)", R"({"items":[1})", R"({"items":[]}x)", R"({"items":[1 2]})",
        R"({"items")", "{,}", R"({"items":[1],"items":[2]})", R"({"items":[1],"items":null})",
        R"({"items":null,"items":[1]})"}) {
    EXPECT_FALSE(JsonText().ReadList(bad, [](const JsonNode&) {})) << bad;
  }
}

// A Workload decoded both ways; the template's text is kept as it came, so keys are in order here.
TEST(JsonText, DecodesWorkloadsAsTheTreeReaderDoes) {
  const char* kRows[] = {
      R"({"metadata":{"name":"w","namespace":"n","creationTimestamp":"2026-01-01T00:00:00Z",
          "labels":{"a":"b","n":null},"ownerReferences":[{"kind":"Job","uid":"u","controller":true}]},
          "spec":{"active":false,"priority":5,"queueName":"q","podSets":[{"count":2,"template":
          {"metadata":{"labels":{"l":"v"}},"spec":{"containers":[{"args":["a\n","é"],"name":"c",
          "resources":{"requests":{"cpu":2,"memory":"1Gi","x/y":1e1}}}],"tolerations":
          [{"key":"k","tolerationSeconds":30}]}}}]},
          "status":{"conditions":[{"type":"QuotaReserved","status":"False","message":"m"}],
          "admissionChecks":[{"name":"c","state":"Ready"}],
          "resourceRequests":[{"name":"main","resources":{"cpu":"500m"}}]}})",
      R"({"spec":{"podSets":[{"count":"two"}]}})",
      R"({"spec":{"podSets":[{"count":2.5}]}})",
      R"({"spec":{"podSets":[{"count":4294967296}]}})",
      R"({"spec":{"priority":99999999999999999999999}})",
      R"({"metadata":{"generation":9223372036854775808}})",
      R"({"spec":{"podSets":{}}})",
      R"({"spec":{"podSets":[1]}})",
      R"({"spec":{"active":"yes"}})",
      R"({"metadata":{"labels":{"a":1}}})",
      R"({"metadata":{"labels":[]}})",
      R"({"metadata":{"name":false}})",
      R"({"metadata":{"creationTimestamp":"yesterday"}})",
      R"({"status":{"conditions":[{"status":"Maybe"}]}})",
      R"({"status":{"resourceRequests":[{"name":"m","resources":{"cpu":"1x"}}]}})",
      R"({"status":{"resourceRequests":[{"name":"m","resources":{"cpu":true}}]}})",
      R"({"metadata":null,"spec":null,"status":null})",
      R"([])",
      R"("w")"};
  for (const char* row : kRows) {
    const Json tree = Json::parse(row);
    const std::string compact = tree.dump();
    JsonText text;
    const auto root = text.Parse(compact);
    ASSERT_TRUE(root) << row;
    const Result<Workload> from_tree = Decode<Workload>(tree);
    const Result<Workload> from_text = Decode<Workload>(**root);
    ASSERT_EQ(from_text.has_value(), from_tree.has_value()) << row;
    if (!from_tree) {
      EXPECT_EQ(from_text.error().message, from_tree.error().message) << row;
      continue;
    }
    EXPECT_EQ(from_text->meta, from_tree->meta) << row;
    EXPECT_EQ(Encode(*from_text), Encode(*from_tree)) << row;
    EXPECT_EQ(Encode(from_text->status), Encode(from_tree->status)) << row;
  }
}

}  // namespace
}  // namespace berth::api

// Goal: RFC 6902 and RFC 7386, with Kubernetes' additions and error codes.
// Method: rows of document, patch, result; the appendix of RFC 7386 in full.
#include "local/apiserver/patch/json_patch.h"

#include <gmock/gmock.h>

namespace berth::local {
namespace {

struct PatchCase {
  std::string name;
  std::string document;
  std::string patch;
  std::string want;  // "" with a code
  int code = 0;
};
void PrintTo(const PatchCase& c, std::ostream* out) { *out << c.name; }

class JsonPatchTest : public ::testing::TestWithParam<PatchCase> {};
TEST_P(JsonPatchTest, AppliesEveryOperationOrRefusesThePatch) {
  const PatchCase& c = GetParam();
  const auto result = ApplyJsonPatch(Json::parse(c.document), Json::parse(c.patch));
  if (c.code != 0) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, c.code);
    return;
  }
  ASSERT_TRUE(result) << result.error().details.dump();
  EXPECT_EQ(*result, Json::parse(c.want));
}
INSTANTIATE_TEST_SUITE_P(
    Table, JsonPatchTest,
    ::testing::ValuesIn(std::vector<PatchCase>{
        {"Add", R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])", R"({"a":1,"b":2})"},
        {"AddToEnd", "[1]", R"([{"op":"add","path":"/-","value":2}])", "[1,2]"},
        {"Insert", "[1,3]", R"([{"op":"add","path":"/1","value":2}])", "[1,2,3]"},
        {"InsertPastEnd", "[1]", R"([{"op":"add","path":"/2","value":2}])", "", 422},
        {"Remove", R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/0"}])", R"({"a":[2]})"},
        {"RemoveMissing", "{}", R"([{"op":"remove","path":"/a"}])", "", 422},
        {"Replace", R"({"a":1})", R"([{"op":"replace","path":"/a","value":null}])",
         R"({"a":null})"},
        {"ReplaceMissing", "{}", R"([{"op":"replace","path":"/a","value":1}])", "", 422},
        {"TestHolds", R"({"a":{"b":[1]}})", R"([{"op":"test","path":"/a","value":{"b":[1]}}])",
         R"({"a":{"b":[1]}})"},
        {"TestFails", R"({"a":1})", R"([{"op":"test","path":"/a","value":2}])", "", 422},
        {"TestNullOfMissing", "{}", R"([{"op":"test","path":"/a","value":null}])", "{}"},
        {"Move", R"({"a":{"x":1}})", R"([{"op":"move","from":"/a/x","path":"/b"}])",
         R"({"a":{},"b":1})"},
        {"MoveIntoItself", R"({"a":{"b":1}})", R"([{"op":"move","from":"/a","path":"/a/b"}])", "",
         422},
        {"Copy", R"({"a":[1]})", R"([{"op":"copy","from":"/a","path":"/b"}])",
         R"({"a":[1],"b":[1]})"},
        {"Escapes", R"({"metadata":{"labels":{"a/b":"x"}}})",
         R"([{"op":"replace","path":"/metadata/labels/a~1b","value":"y"}])",
         R"({"metadata":{"labels":{"a/b":"y"}}})"},
        {"UnknownOp", "{}", R"([{"op":"x","path":"/a"}])", "", 400},
        {"NoArray", "{}", "{}", "", 400},
        {"NoValue", "{}", R"([{"op":"add","path":"/a"}])", "", 400},
        {"LeadingZero", "[1,2]", R"([{"op":"remove","path":"/01"}])", "", 422},
    }),
    [](const auto& row) { return row.param.name; });

TEST(JsonPatchTest, BoundsOperationsAndCopies) {
  Json many = Json::array();
  for (std::size_t i = 0; i <= kMaxJsonPatchOperations; ++i) {
    many.push_back({{"op", "test"}, {"path", "/a"}, {"value", nullptr}});
  }
  EXPECT_EQ(ApplyJsonPatch(Json::object(), many).error().code, 413);
  Json doubling = Json::array();
  for (int i = 0; i < 40; ++i) {
    doubling.push_back({{"op", "copy"}, {"from", ""}, {"path", "/a" + std::to_string(i)}});
  }
  EXPECT_EQ(ApplyJsonPatch(Json::parse(R"({"x":1})"), doubling).error().code, 422);
}

// Copying the whole document into its deepest member doubles the depth each time.
TEST(JsonPatchTest, BoundsDepthAfterEachOperation) {
  Json patch = Json::array();
  std::string path;
  for (int i = 0; i < 17; ++i) {
    path += path.empty() ? "/a" : path;
    patch.push_back({{"op", "copy"}, {"from", ""}, {"path", path}});
  }
  const auto copied = ApplyJsonPatch(Json::parse(R"({"a":1})"), patch);
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, 422);
  EXPECT_EQ(copied.error().details["causes"][0]["message"],
            "the object would be nested too deeply");
  for (const char* op : {"add", "replace"}) {
    Json deep = Json::array();
    std::string pointer = "/a";
    for (int i = 0; i < 300; ++i) {
      deep.push_back({{"op", op}, {"path", pointer}, {"value", {{"a", 1}}}});
      pointer += "/a";
    }
    EXPECT_EQ(ApplyJsonPatch(Json::parse(R"({"a":1})"), deep).error().code, 422) << op;
  }
  Json moved = Json::array();
  for (int i = 0; i < 300; ++i) {
    moved.push_back({{"op", "add"}, {"path", "/b"}, {"value", Json::object()}});
    moved.push_back({{"op", "move"}, {"from", "/a"}, {"path", "/b/a"}});
    moved.push_back({{"op", "move"}, {"from", "/b"}, {"path", "/a"}});
  }
  EXPECT_EQ(ApplyJsonPatch(Json::parse(R"({"a":1})"), moved).error().code, 422);
}

TEST(JsonPatchTest, BoundsSizeAndWork) {
  const Json large{{"a", std::string(2'000'000, 'x')}};
  Json patch = Json::array();
  for (int i = 0; i < 5; ++i) {
    patch.push_back({{"op", "add"}, {"path", "/b" + std::to_string(i)}, {"value", large["a"]}});
  }
  EXPECT_EQ(ApplyJsonPatch(large, patch).error().details["causes"][0]["message"],
            "the object would be too large");
  Json same = Json::array();
  for (int i = 0; i < 10; ++i) {
    same.push_back({{"op", "add"}, {"path", "/a"}, {"value", large["a"]}});
  }
  EXPECT_TRUE(ApplyJsonPatch(large, same));
  Json list{{"l", Json::array()}};
  for (int i = 0; i < 100'000; ++i) list["l"].push_back(1);
  Json shifts = Json::array();
  for (int i = 0; i < 5'000; ++i) {
    shifts.push_back({{"op", "add"}, {"path", "/l/0"}, {"value", 1}});
  }
  EXPECT_EQ(ApplyJsonPatch(list, shifts).error().details["causes"][0]["message"],
            "the operations move too many values");
  EXPECT_EQ(ApplyJsonPatch(Json::parse("[1]"),
                           Json::parse(R"([{"op":"remove","path":"/-9223372036854775808"}])"))
                .error()
                .code,
            422);
}

TEST(MergePatchTest, AppliesTheExamplesOfTheRfc) {
  const std::vector<std::array<std::string, 3>> rows{
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", "{}"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {"{}", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"}};
  for (const auto& [document, patch, want] : rows) {
    EXPECT_EQ(*ApplyMergePatch(Json::parse(document), Json::parse(patch)), Json::parse(want));
  }
  EXPECT_EQ(ApplyMergePatch(Json::object(), Json::array()).error().code, 400);
}

TEST(MergePatchTest, CreatedPatchLeadsToTheTarget) {
  const Json from = Json::parse(R"({"a":{"b":1,"c":2},"d":[1],"e":"x"})");
  const Json to = Json::parse(R"({"a":{"b":1,"c":3},"d":[1,2],"f":{"g":1}})");
  const Json patch = CreateMergePatch(from, to);
  EXPECT_EQ(patch, Json::parse(R"({"a":{"c":3},"d":[1,2],"e":null,"f":{"g":1}})"));
  EXPECT_EQ(*ApplyMergePatch(from, patch), to);
}

}  // namespace
}  // namespace berth::local

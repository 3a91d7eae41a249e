// Goal: bodies are read as Kubernetes reads them, and unknown fields are named.
// Method: rows of text in, report out.
#include "local/apiserver/schema/decode.h"

#include <gmock/gmock.h>

namespace berth::local {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Shape {
  TypeArena arena;
  TypeNode* root = arena.New(TypeKind::kObject);

  Shape() {
    const TypeNode* text = arena.New(TypeKind::kString);
    TypeNode* item = arena.New(TypeKind::kObject);
    item->name = "Container";
    item->fields = {{.name = "name", .type = text}};
    TypeNode* list = arena.New(TypeKind::kList);
    list->element = item;
    TypeNode* labels = arena.New(TypeKind::kMap);
    labels->element = text;
    TypeNode* resources = arena.New(TypeKind::kObject);
    resources->name = "Resources";
    TypeNode* quantities = arena.New(TypeKind::kMap);
    quantities->element = arena.New(TypeKind::kQuantity);
    resources->fields = {{.name = "limits", .type = quantities, .flags = kFieldOmitEmpty}};
    root->name = "Thing";
    root->fields = {
        {.name = "count", .type = arena.New(TypeKind::kInt32), .flags = kFieldOmitEmpty},
        {.name = "items", .type = list, .flags = kFieldOmitEmpty},
        {.name = "labels", .type = labels, .flags = kFieldOmitEmpty},
        {.name = "maybe",
         .type = arena.New(TypeKind::kInt64),
         .flags = kFieldOmitEmpty | kFieldPointer},
        {.name = "name", .type = text},
        {.name = "port", .type = arena.New(TypeKind::kInt32)},
        {.name = "resources", .type = resources},
        {.name = "when", .type = arena.New(TypeKind::kTime), .flags = kFieldOmitZero}};
  }
};

TEST(ParseJsonTest, LastDuplicateFieldWinsAndIsNamed) {
  const auto body = ParseJson(R"({"data":{"a":1,"a":2},"l":[{},{"x":1,"x":3}]})");
  ASSERT_TRUE(body);
  EXPECT_EQ(body->value, Json::parse(R"({"data":{"a":2},"l":[{},{"x":3}]})"));
  EXPECT_THAT(body->strict_errors,
              ElementsAre("duplicate field \"data.a\"", "duplicate field \"l[1].x\""));
}

TEST(SortByPlaceTest, SortsErrorsInTheOrderOfTheText) {
  const std::string text =
      R"({"z":1,"items":[{"name":"a"},{"b":{"c":[1,2]},"name":"x","name":"y"}],"a":{"z":1},"z":2})";
  std::vector<std::string> errors = {"duplicate field \"items[1].name\"", "duplicate field \"z\"",
                                     "unknown field \"absent\"",          "unknown field \"a\"",
                                     "unknown field \"items[1].b\"",      "unknown field \"z\""};
  SortByPlace(text, errors);
  EXPECT_THAT(errors, ElementsAre("unknown field \"z\"", "unknown field \"items[1].b\"",
                                  "duplicate field \"items[1].name\"", "unknown field \"a\"",
                                  "duplicate field \"z\"", "unknown field \"absent\""));
}

TEST(SortByPlaceTest, KeepsTheOrderWithoutAText) {
  std::vector<std::string> errors = {"unknown field \"b\"", "unknown field \"a\""};
  SortByPlace("", errors);
  EXPECT_THAT(errors, ElementsAre("unknown field \"b\"", "unknown field \"a\""));
}

TEST(ParseJsonTest, KeepsAllBitsOf64BitNumbers) {
  const auto body = ParseJson("[9223372036854775807,-9223372036854775808,18446744073709551615]");
  ASSERT_TRUE(body);
  EXPECT_EQ(body->value.dump(), "[9223372036854775807,-9223372036854775808,18446744073709551615]");
}

TEST(ParseJsonTest, RefusesMalformedJson) {
  for (const std::string text : {"", "{", "{\"a\":}", "[1,]", "{\"a\":1}x", "\"\xff\""}) {
    const auto body = ParseJson(text);
    ASSERT_FALSE(body) << text;
    EXPECT_EQ(body.error().code, 400);
  }
}

TEST(ParseJsonTest, BoundsDepthAndSize) {
  const auto deep = ParseJson(std::string(5000, '[') + std::string(5000, ']'));
  ASSERT_FALSE(deep);
  EXPECT_THAT(deep.error().message, HasSubstr("nested deeper than 200"));
  const auto large = ParseJson(std::string(kMaxBodyBytes + 1, ' '));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, 413);
}

TEST(UnknownFieldsTest, NamesEachUnknownFieldWithItsPath) {
  const Shape shape;
  EXPECT_THAT(UnknownFields(*shape.root, Json::parse(R"({
      "paralelism": 1, "labels": {"any": "x"}, "items": [{"name": "a"}, {"nam": "b"}]})")),
              ElementsAre("unknown field \"items[1].nam\"", "unknown field \"paralelism\""));
  EXPECT_THAT(UnknownFields(*shape.root, Json::parse(R"({"Count": 1})")),
              ElementsAre("unknown field \"Count\""));
}

struct MismatchCase {
  std::string json;
  std::string want;
};
class TypeMismatchTest : public ::testing::TestWithParam<MismatchCase> {};
TEST_P(TypeMismatchTest, MessageEqualsThatOfGo) {
  const Shape shape;
  EXPECT_EQ(TypeMismatch(*shape.root, "Thing", Json::parse(GetParam().json)), GetParam().want);
}
INSTANTIATE_TEST_SUITE_P(
    Table, TypeMismatchTest,
    ::testing::Values(
        MismatchCase{R"({"count":1,"maybe":null,"unknown":{}})", ""},
        MismatchCase{R"({"labels":{"a":1}})",
                     "json: cannot unmarshal number into Go struct field Thing.labels of type "
                     "string"},
        MismatchCase{R"({"items":[{"name":true}]})",
                     "json: cannot unmarshal bool into Go struct field Container.items.name of "
                     "type string"},
        MismatchCase{R"({"items":{}})",
                     "json: cannot unmarshal object into Go struct field Thing.items of type "
                     "[]v1.Container"},
        MismatchCase{R"({"count":3000000000})",
                     "json: cannot unmarshal number 3000000000 into Go struct field Thing.count of "
                     "type int32"},
        MismatchCase{R"({"resources":{"limits":{"cpu":"1x"}}})",
                     "quantities must match the regular expression "
                     "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
        MismatchCase{"[]", "json: cannot unmarshal array into Go value of type v1.Thing"}));

TEST(NormalizeTest, WritesValuesAsGoDoes) {
  const Shape shape;
  Json value = Json::parse(R"({
      "count": 0, "maybe": 0, "gone": 1, "labels": {"a": null}, "items": [],
      "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}},
      "when": "2026-11-20T08:03:22.5+01:00"})");
  NormalizeBuiltin(*shape.root, value);
  EXPECT_EQ(value, Json::parse(R"({
      "maybe": 0, "labels": {"a": ""}, "name": "", "port": 0,
      "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}}, "when": "2026-11-20T07:03:22Z"})"));
  Json empty = Json::object();
  NormalizeBuiltin(*shape.root, empty);
  // What has no omitempty is written although it is zero.
  EXPECT_EQ(empty, Json::parse(R"({"name": "", "port": 0, "resources": {}})"));
  EXPECT_THAT(UnknownFields(*shape.root, value), IsEmpty());
}

TEST(YamlBodyTest, ReportsDuplicateFields) {
  const auto body = ParseYamlBody("data:\n  a: 1\n  a: 2\n");
  ASSERT_TRUE(body);
  EXPECT_EQ(body->value, Json::parse(R"({"data":{"a":2}})"));
  EXPECT_THAT(body->strict_errors, ElementsAre("duplicate field \"data.a\""));
  EXPECT_FALSE(ParseYamlBody("a: [1"));
}

}  // namespace
}  // namespace berth::local

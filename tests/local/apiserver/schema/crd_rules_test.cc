// Goal: rules in CEL of custom kinds refuse what Kubernetes refuses, with its causes. Method: 150
// schemas with a value, some with a value before, as Kubernetes' libraries judge them; rows of
// definitions that are wrong.
#include <algorithm>

#include <gmock/gmock.h>

#include "api/yaml/yaml.h"
#include "local/apiserver/schema/crd_schema.h"
#include "tests/local/apiserver/vectors.h"

namespace berth::local {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Json SchemaOf(const Json& spec) { return {{"type", "object"}, {"properties", {{"spec", spec}}}}; }

Json ObjectOf(const Json& spec) {
  return {{"apiVersion", "x.dev/v1"}, {"kind", "W"}, {"metadata", {{"name", "w"}}}, {"spec", spec}};
}

TEST(CrdRulesTest, AgreeWithKubernetes) {
  const std::vector<Json> vectors = ReadVectors("crd_rules.jsonl");
  ASSERT_GT(vectors.size(), 140U);
  for (const Json& vector : vectors) {
    SCOPED_TRACE(vector["schema"].dump() + " " + vector["value"].dump() + " before " +
                 vector.value("old", Json("nothing")).dump());
    std::vector<Cause> causes;
    const auto schema = CrdSchema::Parse(SchemaOf(vector["schema"]), "s", causes);
    ASSERT_NE(schema, nullptr) << causes.at(0).field << causes.at(0).message;
    const Json old_object = ObjectOf(vector.value("old", Json()));
    std::vector<std::string> got;
    for (const Cause& cause : schema->Validate(ObjectOf(vector["value"]),
                                               vector.contains("old") ? &old_object : nullptr)) {
      got.push_back(cause.reason + " " + cause.field + ": " + cause.message);
    }
    std::sort(got.begin(), got.end());
    EXPECT_EQ(Json(got), vector["causes"]);
  }
}

struct WrongRule {
  std::string name;
  std::string schema;  // the schema of spec
  std::string want;
};
void PrintTo(const WrongRule& c, std::ostream* out) { *out << c.name; }
class WrongRuleTest : public ::testing::TestWithParam<WrongRule> {};
TEST_P(WrongRuleTest, IsRefused) {
  std::vector<Cause> causes;
  const auto schema =
      CrdSchema::Parse(SchemaOf(api::ParseYaml(GetParam().schema)->value), "s", causes);
  EXPECT_EQ(schema, nullptr);
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_THAT(causes[0].field + ": " + causes[0].message, HasSubstr(GetParam().want));
}
INSTANTIATE_TEST_SUITE_P(
    Table, WrongRuleTest,
    ::testing::ValuesIn(std::vector<WrongRule>{
        {"Syntax",
         "{type: object, x-kubernetes-validations: [{rule: 'self.a ==', reason: "
         "FieldValueInvalid}]}",
         "s.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {\"Rule\":\"self.a "
         "==\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":\"FieldValueInvalid\","
         "\"FieldPath\":\"\",\"OptionalOldSelf\":null}: compilation failed: ERROR: <input>:1:10"},
        {"Unknown", "{type: object, x-kubernetes-validations: [{rule: 'object.a'}]}",
         "undeclared reference to 'object'"},
        {"MessageExpression",
         "{type: object, x-kubernetes-validations: [{rule: 'true', messageExpression: 'x'}]}",
         "x-kubernetes-validations[0].messageExpression: Invalid value: "},
        {"Empty", "{type: object, x-kubernetes-validations: [{rule: ' '}]}",
         "[0].rule: Required value: rule is not specified"},
        {"BlankMessage", "{type: object, x-kubernetes-validations: [{rule: 'true', message: ' '}]}",
         "[0].message: Invalid value: \" \": must be non-empty if specified"},
        {"Lines", "{type: object, x-kubernetes-validations: [{rule: \"true\\n|| false\"}]}",
         "[0].message: Required value: message must be specified if rule contains line breaks"},
        {"LinesOfMessage",
         "{type: object, x-kubernetes-validations: [{rule: 'true', message: \"a\\nb\"}]}",
         "[0].message: Invalid value: \"a\\nb\": must not contain line breaks"},
        {"Reason", "{type: object, x-kubernetes-validations: [{rule: 'true', reason: Other}]}",
         "[0].reason: Unsupported value: \"Other\": supported values: \"FieldValueDuplicate\", "
         "\"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\""},
        {"FieldPath", "{type: object, x-kubernetes-validations: [{rule: 'true', fieldPath: .a}]}",
         "[0].fieldPath: Invalid value: \".a\": must be a valid path"},
        {"OptionalOldSelf",
         "{type: object, x-kubernetes-validations: [{rule: 'true', optionalOldSelf: true}]}",
         "[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"},
        {"OldSelfInAList",
         "{type: object, properties: {l: {type: array, items: {type: string, "
         "x-kubernetes-validations: [{rule: 'self == oldSelf'}]}}}}",
         "s.properties[spec].properties[l].items.x-kubernetes-validations[0].rule: Invalid value: "
         "\"self == oldSelf\": oldSelf cannot be used on the uncorrelatable portion of the schema "
         "within s.properties[spec].properties[l]"},
    }),
    [](const auto& row) { return row.param.name; });

TEST(CrdRulesTest, RulesAreNotEvaluatedOnAnInvalidObject) {
  std::vector<Cause> causes;
  const auto schema =
      CrdSchema::Parse(SchemaOf(api::ParseYaml("{type: object, properties: {a: {type: integer}}, "
                                               "x-kubernetes-validations: [{rule: 'self.a > 1'}]}")
                                    ->value),
                       "s", causes);
  ASSERT_NE(schema, nullptr);
  std::vector<std::string> texts;
  for (const Cause& cause : schema->Validate(ObjectOf({{"a", "x"}}), nullptr)) {
    texts.push_back(cause.field + ": " + cause.message);
  }
  EXPECT_THAT(
      texts,
      ElementsAre(
          "spec.a: Invalid value: \"string\": spec.a in body must be of type integer: \"string\"",
          "<nil>: Invalid value: null: some validation rules were not checked because the object "
          "was invalid; correct the existing errors to complete validation"));
}

TEST(CrdRulesTest, RuleAboveItsCostLimitEndsTheEvaluation) {
  std::vector<Cause> causes;
  const auto schema = CrdSchema::Parse(
      SchemaOf(api::ParseYaml("{type: object, properties: {l: {type: array, items: {type: "
                              "integer}, x-kubernetes-validations: [{rule: 'self.all(x, "
                              "self.all(y, y == x))'}, {rule: 'self.size() < 1'}]}}}")
                   ->value),
      "s", causes);
  ASSERT_NE(schema, nullptr);
  const Json spec{{"l", std::vector<int>(3000, 6)}};
  const std::vector<Cause> got = schema->Validate(ObjectOf(spec), nullptr);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_THAT(got[0].message,
              HasSubstr("'operation cancelled: actual cost limit exceeded': no further validation "
                        "rules will be run due to call cost exceeds limit for rule: self.all"));
}

// All rules of an object share one budget.
TEST(CrdRulesTest, RulesOfAnObjectShareOneBudget) {
  std::vector<Cause> causes;
  const auto schema = CrdSchema::Parse(
      SchemaOf(api::ParseYaml("{type: object, properties: {l: {type: array, items: {type: object, "
                              "x-kubernetes-validations: [{rule: 'self.m.all(x, self.m.all(y, "
                              "self.m.exists(z, z > 5)))'}], properties: {m: {type: array, items: "
                              "{type: integer}}}}}}}")
                   ->value),
      "s", causes);
  ASSERT_NE(schema, nullptr);
  Json spec = {{"l", Json::array()}};
  for (int i = 0; i < 1000; ++i) {
    spec["l"].push_back({{"m", std::vector<int>(100, 6)}});
  }
  const std::vector<Cause> got = schema->Validate(ObjectOf(spec), nullptr);
  ASSERT_FALSE(got.empty());
  EXPECT_LT(got.size(), 1000U);
  EXPECT_THAT(got.back().message, HasSubstr("no further validation rules will be run"));
}

}  // namespace
}  // namespace berth::local

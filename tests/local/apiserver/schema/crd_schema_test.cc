// Goal: custom objects are pruned, defaulted and validated as Kubernetes does, in its words.
// Method: rows of one property's schema and one value; then a whole kind.
#include "local/apiserver/schema/crd_schema.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "api/yaml/yaml.h"

namespace berth::local {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Json Yaml(std::string_view text) { return api::ParseYaml(text)->value; }

std::shared_ptr<const CrdSchema> Parse(const Json& schema) {
  std::vector<Cause> causes;
  auto parsed = CrdSchema::Parse(schema, "s", causes);
  for (const Cause& cause : causes) ADD_FAILURE() << cause.field << ": " << cause.message;
  return parsed;
}

std::vector<std::string> Texts(const std::vector<Cause>& causes) {
  std::vector<std::string> texts;
  for (const Cause& cause : causes) texts.push_back(cause.field + ": " + cause.message);
  return texts;
}

struct ValueCase {
  std::string name;
  std::string schema;  // the schema of spec.a
  std::string value;
  std::string want;  // "" for valid
};
void PrintTo(const ValueCase& c, std::ostream* out) { *out << c.name; }
class CrdValueTest : public ::testing::TestWithParam<ValueCase> {};
TEST_P(CrdValueTest, WrongValueIsRefusedWithItsField) {
  const ValueCase& c = GetParam();
  const auto schema = Parse(
      {{"type", "object"},
       {"properties", {{"spec", {{"type", "object"}, {"properties", {{"a", Yaml(c.schema)}}}}}}}});
  ASSERT_NE(schema, nullptr);
  const Json object = {{"apiVersion", "g/v1"}, {"kind", "K"}, {"spec", {{"a", Yaml(c.value)}}}};
  const auto texts = Texts(schema->Validate(object, nullptr));
  if (c.want.empty()) {
    EXPECT_THAT(texts, IsEmpty());
  } else {
    EXPECT_THAT(texts, ElementsAre(c.want));
  }
}
INSTANTIATE_TEST_SUITE_P(
    Table, CrdValueTest,
    ::testing::ValuesIn(std::vector<ValueCase>{
        {"Type", "{type: integer}", "\"string\"",
         "spec.a: Invalid value: \"string\": spec.a in body must be of type integer: \"string\""},
        {"Null", "{type: string}", "null",
         "spec.a: Invalid value: \"null\": spec.a in body must be of type string: \"null\""},
        {"Nullable", "{type: string, nullable: true}", "null", ""},
        {"WholeFloat", "{type: integer}", "2.0", ""},
        {"IntAsNumber", "{type: number}", "2", ""},
        {"Enum", "{type: string, enum: [None, Hold]}", "X",
         "spec.a: Unsupported value: \"X\": supported values: \"None\", \"Hold\""},
        {"Pattern", "{type: string, pattern: '^[a-z]+$'}", "A1",
         "spec.a: Invalid value: \"A1\": spec.a in body should match '^[a-z]+$'"},
        {"Maximum", "{type: integer, maximum: 2}", "3",
         "spec.a: Invalid value: 3: spec.a in body should be less than or equal to 2"},
        {"ExclusiveMinimum", "{type: number, minimum: 0.5, exclusiveMinimum: true}", "0.5",
         "spec.a: Invalid value: 0.5: spec.a in body should be greater than 0.5"},
        {"MinLength", "{type: string, minLength: 1}", "\"\"",
         "spec.a: Invalid value: \"\": spec.a in body should be at least 1 chars long"},
        {"MaxLengthInCodePoints", "{type: string, maxLength: 2}", "éé", ""},
        {"MaxLength", "{type: string, maxLength: 2}", "abc",
         "spec.a: Too long: may not be more than 2 bytes"},
        {"MaxItems", "{type: array, maxItems: 1, items: {type: integer}}", "[1, 2]",
         "spec.a: Too many: 2: must have at most 1 item"},
        {"MinItems", "{type: array, minItems: 1, items: {type: integer}}", "[]",
         "spec.a: Invalid value: 0: spec.a in body should have at least 1 items"},
        {"MinProperties", "{type: object, minProperties: 1, additionalProperties: {type: string}}",
         "{}", "spec.a: Invalid value: 0: spec.a in body should have at least 1 properties"},
        {"Required", "{type: object, required: [b], properties: {b: {type: string}}}", "{}",
         "spec.a.b: Required value"},
        {"MapValue", "{type: object, additionalProperties: {type: string}}", "{k: 1}",
         "spec.a.k: Invalid value: \"integer\": spec.a.k in body must be of type string: "
         "\"integer\""},
        {"Item", "{type: array, items: {type: string}}", "[x, 1]",
         "spec.a[1]: Invalid value: \"integer\": spec.a[1] in body must be of type string: "
         "\"integer\""},
        {"DateTime", "{type: string, format: date-time}", "yesterday",
         "spec.a: Invalid value: \"yesterday\": spec.a in body must be of type date-time: "
         "\"yesterday\""},
        {"UnknownFormat", "{type: string, format: foo}", "x", ""},
        {"Int32", "{type: integer, format: int32}", "3000000000",
         "<nil>: Invalid value: \"\": Checked value must be of type integer with format int32 in "
         "spec.a"},
        {"IntOrString",
         "{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}", "50%", ""},
        {"IntOrStringPattern", "{x-kubernetes-int-or-string: true, pattern: '^[0-9]+$'}", "1x",
         "spec.a: Invalid value: \"1x\": spec.a in body should match '^[0-9]+$'"},
        {"NotIntOrString", "{x-kubernetes-int-or-string: true}", "1.5",
         "spec.a: Invalid value: \"number\": spec.a in body must be of type integer,string: "
         "\"number\""},
        {"ListMap",
         "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: "
         "{type: object, required: [name], properties: {name: {type: string}}}}",
         "[{name: cpu}, {name: cpu}, {name: cpu}]",
         "spec.a[1]: Duplicate value: {\"name\":\"cpu\"}"},
        {"Set", "{type: array, x-kubernetes-list-type: set, items: {type: string}}", "[x, z, x]",
         "spec.a[2]: Duplicate value: \"x\""},
        {"Embedded",
         "{type: object, x-kubernetes-embedded-resource: true, "
         "x-kubernetes-preserve-unknown-fields: true}",
         "{apiVersion: v1}", "spec.a.kind: Required value"},
        {"Preserved", "{x-kubernetes-preserve-unknown-fields: true}", "{b: [1, x]}", ""},
    }),
    [](const auto& row) { return row.param.name; });

constexpr std::string_view kQueue = R"(
type: object
properties:
  apiVersion: {type: string}
  kind: {type: string}
  metadata: {type: object}
  spec:
    type: object
    x-kubernetes-validations: [{rule: "true"}]
    properties:
      strategy: {type: string, default: BestEffort}
      maybe: {type: string, nullable: true, default: x}
      count: {type: integer, maximum: 2}
      plain: {type: string}
      nested:
        type: object
        default: {}
        properties:
          active: {type: boolean, default: true}
      list:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items:
          type: object
          required: [name]
          properties:
            name: {type: string}
            num: {type: integer, maximum: 2, default: 1}
      open: {type: object, x-kubernetes-preserve-unknown-fields: true}
      template:
        type: object
        x-kubernetes-embedded-resource: true
        x-kubernetes-preserve-unknown-fields: true
  status: {type: object, x-kubernetes-preserve-unknown-fields: true}
)";

TEST(CrdSchemaTest, PrunesUnknownFieldsAndNamesThem) {
  const auto schema = Parse(Yaml(kQueue));
  Json object = Yaml(R"(
apiVersion: g/v1
kind: K
metadata: {name: x, creationTimestamp: null, foo: 1, labels: {a: b}}
top: 1
spec:
  strateg: x
  open: {a: {b: 1}}
  list: [{name: a, z: 1}]
  template: {apiVersion: v1, kind: Pod, metadata: {bar: 1, creationTimestamp: null}, spec: {q: 1}}
)");
  EXPECT_THAT(schema->Prune(object), ElementsAre("metadata.foo", "spec.list[0].z", "spec.strateg",
                                                 "spec.template.metadata.bar", "top"));
  EXPECT_EQ(object, Yaml(R"(
apiVersion: g/v1
kind: K
metadata: {name: x, labels: {a: b}}
spec:
  open: {a: {b: 1}}
  list: [{name: a}]
  template: {apiVersion: v1, kind: Pod, metadata: {}, spec: {q: 1}}
)"));
}

TEST(CrdSchemaTest, MissingFieldsAndForbiddenNullsGetTheirDefaults) {
  const auto schema = Parse(Yaml(kQueue));
  Json object = Yaml("spec: {strategy: null, maybe: null, plain: null, list: [{name: a}]}");
  schema->Default(object);
  EXPECT_EQ(object, Yaml("spec: {strategy: BestEffort, maybe: null, nested: {active: true}, "
                         "list: [{name: a, num: 1}]}"));
  Json none = Yaml("{metadata: {}}");
  schema->Default(none);
  EXPECT_EQ(none, Yaml("{metadata: {}}"));
}

TEST(CrdSchemaTest, InvalidObjectReportsThatRulesWereSkipped) {
  const auto schema = Parse(Yaml(kQueue));
  EXPECT_THAT(
      Texts(schema->Validate(Yaml("{apiVersion: g/v1, kind: K, spec: {plain: 1}}"), nullptr)),
      Contains("<nil>: Invalid value: null: some validation rules were not checked because "
               "the object was invalid; correct the existing errors to complete "
               "validation"));
}

TEST(CrdSchemaTest, AcceptsUnchangedInvalidValues) {
  const auto schema = Parse(Yaml(kQueue));
  const Json old_object = Yaml("spec: {count: 5, list: [{name: a, num: 7}, {name: b, num: 8}]}");
  std::vector<Cause> ratcheted;
  const Json same =
      Yaml("spec: {plain: x, count: 5, list: [{name: b, num: 8}, {name: a, num: 7}]}");
  EXPECT_THAT(Texts(schema->Validate(same, &old_object, &ratcheted)), IsEmpty());
  EXPECT_EQ(ratcheted.size(), 3U);
  const Json changed = Yaml("spec: {count: 6, list: [{name: a, num: 7}, {name: b, num: 9}]}");
  EXPECT_THAT(
      Texts(schema->Validate(changed, &old_object)),
      ElementsAre("spec.count: Invalid value: 6: spec.count in body should be less than or "
                  "equal to 2",
                  "spec.list[1].num: Invalid value: 9: spec.list[1].num in body should be less "
                  "than or equal to 2"));
}

TEST(CrdSchemaTest, ReadsTheSchemasOfBerthsCrds) {
  std::size_t schemas = 0;
  for (const auto& entry : std::filesystem::directory_iterator(BERTH_CRD_FOLDER)) {
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    const auto documents = api::ParseYamlStream(text.str());
    ASSERT_TRUE(documents) << entry.path() << documents.error().message;
    for (const auto& document : *documents) {
      if (document.value.value("kind", "") != "CustomResourceDefinition") continue;
      for (const Json& version : document.value["spec"]["versions"]) {
        EXPECT_NE(Parse(version["schema"]["openAPIV3Schema"]), nullptr) << entry.path();
        ++schemas;
      }
    }
  }
  EXPECT_GT(schemas, 10U);
}

struct BadSchema {
  std::string schema;
  std::string want;
};
class BadCrdSchemaTest : public ::testing::TestWithParam<BadSchema> {};
TEST_P(BadCrdSchemaTest, IsRefused) {
  std::vector<Cause> causes;
  EXPECT_EQ(CrdSchema::Parse(Yaml(GetParam().schema), "s", causes), nullptr);
  EXPECT_THAT(Texts(causes), Contains(GetParam().want));
}
INSTANTIATE_TEST_SUITE_P(
    Table, BadCrdSchemaTest,
    ::testing::Values(
        BadSchema{"{}", "s.type: Required value: must not be empty at the root"},
        BadSchema{"{type: string}",
                  "s.type: Invalid value: \"string\": must be object at the root"},
        BadSchema{"{type: object, properties: {a: {}}}",
                  "s.properties[a].type: Required value: must not be empty for specified object "
                  "fields"},
        BadSchema{"{type: object, properties: {a: {type: array}}}",
                  "s.properties[a].items: Required value: must be specified"},
        BadSchema{"{type: object, properties: {a: {type: string, pattern: '('}}}",
                  "s.properties[a].pattern: Invalid value: \"(\": must be a valid regular "
                  "expression, but isn't: missing ): ("},
        BadSchema{"{type: object, properties: {a: {type: string, default: 5}}}",
                  "s.properties[a].default: Invalid value: \"integer\":  in body must be of type "
                  "string: \"integer\""},
        BadSchema{"{type: object, properties: {a: {type: string, anyOf: [{type: string}]}}}",
                  "s.properties[a].anyOf[0].type: Forbidden: must be empty to be structural"},
        BadSchema{"{type: object, additionalProperties: {type: string}}",
                  "s.additionalProperties: Forbidden: must not be used at the root"},
        BadSchema{"{type: object, properties: {a: {$ref: x, type: object}}}",
                  "s.properties[a].$ref: Forbidden: $ref is not supported"},
        BadSchema{"{type: object, properties: {a: {type: array, items: {type: object, properties: "
                  "{k: {type: string}}}, x-kubernetes-list-type: map, "
                  "x-kubernetes-list-map-keys: [k]}}}",
                  "s.properties[a].items.properties[k].default: Required value: this property is "
                  "in x-kubernetes-list-map-keys, so it must have a default or be a required "
                  "property"}));

}  // namespace
}  // namespace berth::local

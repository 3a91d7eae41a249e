// Goal: expressions are refused for their types as Kubernetes refuses them, and no other ones.
// Method: 3,500 expressions with the answers of Kubernetes' compiler for a schema; definitions with
// rules that never fit.
#include "local/apiserver/schema/declared_type.h"

#include <gmock/gmock.h>

#include "api/yaml/yaml.h"
#include "cel/cost_estimate.h"
#include "cel/program.h"
#include "local/apiserver/schema/crd_schema.h"
#include "tests/local/apiserver/vectors.h"

namespace berth::local {
namespace {

using ::testing::HasSubstr;

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// The vectors have 217 errors. Kubernetes also evaluates constants while it compiles.
constexpr std::size_t kLeastFound = 110;

TEST(DeclaredTypeTest, AgreesWithKubernetes) {
  const std::vector<Json> vectors = ReadVectors("types.jsonl");
  ASSERT_GT(vectors.size(), 3500U);
  const Json schema = vectors[0]["schema"];
  cel::TypedVariables typed;
  typed.types["self"] = typed.types["oldSelf"] = DeclaredType(schema);
  std::size_t found = 0;
  for (std::size_t i = 1; i < vectors.size(); ++i) {
    const std::string expression = vectors[i]["expression"];
    const std::string told = vectors[i]["error"];
    SCOPED_TRACE(expression);
    if (!cel::Compile(expression, {.variables = {"self", "oldSelf"}, .objects = {}})) continue;
    const Status checked = cel::CheckTypes(expression, typed);
    if (told.empty()) {
      EXPECT_TRUE(checked) << checked.error().message;
    } else if (!checked && told.find("_var") == std::string::npos) {
      ++found;
      EXPECT_EQ(FirstLine(checked.error().message), FirstLine(told));
    }
  }
  EXPECT_GT(found, kLeastFound);
}

TEST(DeclaredTypeTest, CostsAreThoseOfKubernetes) {
  const std::vector<Json> vectors = ReadVectors("types.jsonl");
  ASSERT_GT(vectors.size(), 3500U);
  std::size_t compared = 0;
  for (const char* schema : {"schema", "bounded"}) {
    cel::TypedVariables typed;
    const cel::TypePtr self = DeclaredType(vectors[0][schema], false);
    typed.types["self"] = typed.types["oldSelf"] = self;
    const char* key = schema == std::string("schema") ? "cost" : "boundedCost";
    for (std::size_t i = 1; i < vectors.size(); ++i) {
      if (!vectors[i].contains(key)) continue;
      const std::string expression = vectors[i]["expression"];
      if (!cel::Compile(expression, {.variables = {"self", "oldSelf"}, .objects = {}})) continue;
      SCOPED_TRACE(expression);
      const auto cost = cel::EstimateCost(expression, typed, self);
      ASSERT_TRUE(cost) << cost.error().message;
      EXPECT_EQ(std::to_string(*cost), vectors[i][key].get<std::string>());
      ++compared;
    }
  }
  EXPECT_GT(compared, 4000U);
}

struct TypedRule {
  const char* rule;
  const char* outcome;  // part of the refusal; "": accepted
};

TEST(DeclaredTypeTest, RefusesDefinitionsWithRulesOfWrongTypes) {
  const TypedRule rows[] = {
      {"self.size < 5", ""},
      {"self.size < '5'", "found no matching overload for '_<_' applied to '(int, string)'"},
      {"self.sise < 5", "undefined field 'sise'"},
      {"self.size", "cel expression must evaluate to a bool"},
      {"self.metadata.name == 'x' && self.kind == 'W'", ""},
      {"self.open.anything == 1", ""},
      {"self.size == oldSelf.size", ""},
      {"self.size == oldSelf.words", "found no matching overload for '_==_'"},
  };
  for (const TypedRule& row : rows) {
    Json schema = api::ParseYaml(
                      "{type: object, properties: {size: {type: integer}, words: {type: array, "
                      "items: {type: string}}, open: {type: object, "
                      "x-kubernetes-preserve-unknown-fields: true}}}")
                      ->value;
    schema["x-kubernetes-validations"] = Json::array({{{"rule", row.rule}}});
    std::vector<Cause> causes;
    const auto parsed = CrdSchema::Parse(schema, "s", causes);
    SCOPED_TRACE(row.rule);
    if (*row.outcome == '\0') {
      EXPECT_NE(parsed, nullptr) << (causes.empty() ? "" : causes[0].message);
      continue;
    }
    ASSERT_EQ(causes.size(), 1U);
    EXPECT_THAT(causes[0].message, HasSubstr(row.outcome));
  }
}

}  // namespace
}  // namespace berth::local

// Goal: definitions whose rules may cost too much are refused as Kubernetes refuses them, and no
// other ones.
// Method: definitions with the answers of Kubernetes' own validation; definitions of strangers are
// in tests/manifests and tests/strangers.
#include "local/apiserver/schema/crd_rule_cost.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "local/apiserver/schema/crd_schema.h"
#include "tests/local/apiserver/vectors.h"

namespace berth::local {
namespace {

TEST(CrdRuleCostTest, AgreesWithKubernetes) {
  const std::vector<Json> vectors = ReadVectors("crd_costs.jsonl");
  ASSERT_GT(vectors.size(), 30U);
  for (const Json& vector : vectors) {
    SCOPED_TRACE(vector["schema"].dump());
    std::vector<Cause> wrong;
    ASSERT_NE(CrdSchema::Parse(vector["schema"], "openAPIV3Schema", wrong), nullptr)
        << wrong[0].message;
    std::vector<std::string> causes;
    for (const Cause& cause : RuleCostErrors(vector["schema"], "openAPIV3Schema")) {
      EXPECT_EQ(cause.reason, "FieldValueForbidden");
      causes.push_back(cause.field + ": " + cause.message);
    }
    std::sort(causes.begin(), causes.end());
    EXPECT_EQ(causes, vector["causes"].get<std::vector<std::string>>());
  }
}

}  // namespace
}  // namespace berth::local

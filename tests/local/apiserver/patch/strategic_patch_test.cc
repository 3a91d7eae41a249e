// Goal: strategic merge patches give the results of Kubernetes' own library.
// Method: 50 patches applied by both; the result or the error must agree.
#include "local/apiserver/patch/strategic_patch.h"

#include <gmock/gmock.h>

#include "local/apiserver/types/type_table.h"
#include "tests/local/apiserver/vectors.h"

namespace berth::local {
namespace {

TEST(StrategicPatchTest, AgreesWithKubernetes) {
  const TypeTable types = TypeTable::Builtin();
  const std::vector<Json> vectors = ReadVectors("strategic.jsonl");
  ASSERT_GE(vectors.size(), 45U);
  for (const Json& vector : vectors) {
    SCOPED_TRACE(vector["patch"].dump());
    const TypeNode* type = types.FindType(vector["type"].get<std::string>());
    ASSERT_NE(type, nullptr);
    const auto result = ApplyStrategicMergePatch(*type, vector["original"], vector["patch"]);
    if (vector.contains("error")) {
      ASSERT_FALSE(result) << *result;
      EXPECT_TRUE(result.error().code == 400 || result.error().code == 422);
      if (result.error().code == 422) {
        EXPECT_EQ(result.error().message, vector["error"]);
      }
      continue;
    }
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(*result, vector["result"]);
  }
}

TEST(StrategicPatchTest, RefusesAPatchThatIsNoObject) {
  const TypeTable types = TypeTable::Builtin();
  EXPECT_EQ(
      ApplyStrategicMergePatch(*types.FindType("core/v1.Pod"), Json::object(), 1).error().code,
      400);
}

}  // namespace
}  // namespace berth::local

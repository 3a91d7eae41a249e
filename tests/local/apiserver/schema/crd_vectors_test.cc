// Goal: pruning, defaulting and validation give the results of Kubernetes' own libraries, texts
// included. Method: 1,100 pairs of a field's schema and a value, some with an old value; compared
// are the object after pruning and defaulting, the pruned paths, and every cause.
#include <algorithm>

#include <gmock/gmock.h>

#include "local/apiserver/schema/crd_schema.h"
#include "tests/local/apiserver/vectors.h"

namespace berth::local {
namespace {

Json ObjectWith(const Json& value) {
  return {{"apiVersion", "x.dev/v1"},
          {"kind", "W"},
          {"metadata", {{"name", "w"}}},
          {"spec", {{"a", value}}}};
}

TEST(CrdVectorsTest, AgreeWithKubernetes) {
  const std::vector<Json> vectors = ReadVectors("crd.jsonl");
  ASSERT_GT(vectors.size(), 1000U);
  for (const Json& vector : vectors) {
    SCOPED_TRACE(vector["field"].dump() + " " + vector["value"].dump() + " before " +
                 vector.value("old", Json("nothing")).dump());
    std::vector<Cause> causes;
    const auto schema = CrdSchema::Parse(
        {{"type", "object"},
         {"properties",
          {{"spec", {{"type", "object"}, {"properties", {{"a", vector["field"]}}}}}}}},
        "s", causes);
    ASSERT_NE(schema, nullptr) << causes.at(0).field << causes.at(0).message;
    Json object = ObjectWith(vector["value"]);
    const std::vector<std::string> unknown = schema->Prune(object);
    EXPECT_EQ(Json(unknown), vector.value("unknown", Json::array()));
    schema->Default(object);
    EXPECT_EQ(object["spec"], vector["spec"]);
    const Json old_object = ObjectWith(vector.value("old", Json()));
    std::vector<std::string> got;
    for (const Cause& cause :
         schema->Validate(object, vector.contains("old") ? &old_object : nullptr)) {
      got.push_back(cause.reason + " " + cause.field + ": " + cause.message);
    }
    std::sort(got.begin(), got.end());
    EXPECT_EQ(Json(got), vector.value("causes", Json::array()));
  }
}

}  // namespace
}  // namespace berth::local

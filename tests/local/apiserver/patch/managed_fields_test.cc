// Goal: server-side apply and managedFields equal the results of Kubernetes' own field manager for
// the same writes.
// Method: 166 sequences (160 of them random on a custom kind with every list type) played by both;
// after each step the object, its managers and their fields, or the conflict's text, must agree.
#include "local/apiserver/patch/managed_fields.h"

#include <gmock/gmock.h>

#include "base/rfc3339.h"
#include "local/apiserver/schema/crd_schema.h"
#include "local/apiserver/types/type_table.h"
#include "tests/local/apiserver/vectors.h"

namespace berth::local {
namespace {

using ::testing::HasSubstr;

const WallTime kStart = *ParseTime("2026-01-01T00:00:00Z");

// The schema of tools/vectors/apply.go.
constexpr std::string_view kWidget = R"({"type":"object","properties":{
"spec":{"type":"object","properties":{
  "a":{"type":"string"},"num":{"type":"integer"},
  "nested":{"type":"object","properties":{"p":{"type":"string"},"q":{"type":"string"}}},
  "whole":{"type":"object","x-kubernetes-map-type":"atomic",
    "properties":{"p":{"type":"string"},"q":{"type":"string"}}},
  "table":{"type":"object","additionalProperties":{"type":"string"}},
  "plain":{"type":"array","items":{"type":"string"}},
  "set":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
  "items":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
    "items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},
      "value":{"type":"string"},
      "tags":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}}}}},
  "ports":{"type":"array","x-kubernetes-list-type":"map",
    "x-kubernetes-list-map-keys":["port","protocol"],
    "items":{"type":"object","required":["port"],"properties":{"port":{"type":"integer"},
      "protocol":{"type":"string","default":"TCP"},"host":{"type":"string"}}}},
  "open":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
"status":{"type":"object","properties":{"phase":{"type":"string"},"count":{"type":"integer"}}}}})";

class ManagedFieldsTest : public ::testing::Test {
 protected:
  const TypeNode& TypeOf(const Json& vector) {
    if (vector["kind"] == "Widget") return widget_->root();
    const std::string version = vector["apiVersion"];
    const std::size_t slash = version.find('/');
    return *types_.Find(slash == std::string::npos ? "" : version.substr(0, slash),
                        slash == std::string::npos ? version : version.substr(slash + 1),
                        vector["kind"].get<std::string>());
  }

  // The result of one step, or its error.
  ApiResult<Json> Play(const Json& vector, const Json& step, const Json* live, WallTime now) {
    const ManagerContext context{.type = &TypeOf(vector),
                                 .api_version = vector["apiVersion"],
                                 .manager = step["manager"],
                                 .subresource = step["subresource"],
                                 .now = now};
    Json object = step["object"];
    if (step["operation"] == "apply") {
      const auto policy = step["force"] == true ? ConflictPolicy::kForce : ConflictPolicy::kFail;
      auto applied = ApplyConfiguration(live, object, context, policy);
      if (!applied) return applied.error();
      return std::move(applied->object);
    }
    if (live != nullptr) object["metadata"]["uid"] = "u";
    TrackUpdate(live, object, context);
    return object;
  }

  const TypeTable types_ = TypeTable::Builtin();
  std::vector<Cause> causes_;
  const std::shared_ptr<const CrdSchema> widget_ =
      CrdSchema::Parse(Json::parse(kWidget), "s", causes_);
};

TEST_F(ManagedFieldsTest, AgreeWithKubernetes) {
  ASSERT_NE(widget_, nullptr);
  const std::vector<Json> vectors = ReadVectors("apply.jsonl");
  ASSERT_GE(vectors.size(), 150U);
  for (const Json& vector : vectors) {
    Json live;
    std::size_t number = 0;
    for (const Json& step : vector["steps"]) {
      SCOPED_TRACE(vector["name"].get<std::string>() + " step " + std::to_string(number) + ": " +
                   step["operation"].dump() + step["manager"].dump() + step["object"].dump());
      ApiResult<Json> got = Play(vector, step, live.is_null() ? nullptr : &live,
                                 kStart + std::chrono::seconds(number));
      ++number;
      if (step.contains("error")) {
        ASSERT_FALSE(got) << *got;
        const std::string want = step["error"];
        if (got.error().code != 400) {
          ASSERT_THAT(want, HasSubstr(got.error().message.substr(0, 40)));
        }
        if (got.error().code == 409) {
          ASSERT_EQ(got.error().message, want);
        }
        continue;
      }
      ASSERT_TRUE(got) << got.error().message;
      (*got)["metadata"]["uid"] = "u";
      const Json& want = step["result"];
      ASSERT_EQ(*got, want) << Json::diff(want, *got).dump(1);
      live = step["result"];
    }
  }
}

}  // namespace
}  // namespace berth::local

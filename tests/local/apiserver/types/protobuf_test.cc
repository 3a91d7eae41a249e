// Goal: a protobuf body means the same object as its JSON.
// Method: bodies written by Kubernetes' own serializer for empty and filled objects; then truncated
// or altered bodies, which must be refused and never crash.
#include "local/apiserver/types/protobuf.h"

#include <gmock/gmock.h>

#include "base/strings.h"
#include "local/apiserver/schema/decode.h"
#include "tests/local/apiserver/vectors.h"

namespace berth::local {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const TypeNode& TypeOf(const TypeTable& types, const Json& vector) {
  const std::string version = vector["groupVersion"];
  const std::size_t slash = version.find('/');
  const TypeNode* type = slash == std::string::npos
                             ? types.Find("", version, vector["kind"].get<std::string>())
                             : types.Find(version.substr(0, slash), version.substr(slash + 1),
                                          vector["kind"].get<std::string>());
  EXPECT_NE(type, nullptr) << version << " " << vector["kind"];
  return *type;
}

TEST(ProtobufTest, ProtobufDecodesToItsJson) {
  const TypeTable types = TypeTable::Builtin();
  const std::vector<Json> vectors = ReadVectors("protobuf.jsonl");
  ASSERT_GE(vectors.size(), 60U);
  for (const Json& vector : vectors) {
    SCOPED_TRACE(vector["groupVersion"].dump() + vector["kind"].dump());
    const TypeNode& type = TypeOf(types, vector);
    Json want = vector["json"];
    EXPECT_THAT(UnknownFields(type, want), IsEmpty());
    EXPECT_EQ(TypeMismatch(type, "x", want), "");
    NormalizeBuiltin(type, want);
    const auto got = DecodeProtobuf(types, *Base64Decode(vector["protobuf"].get<std::string>()));
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(*got, want) << Json::diff(want, *got).dump(1);
  }
}

// NormalizeBuiltin must drop nothing that Go writes, except nulls.
TEST(ProtobufTest, NormalizingRemovesOnlyNulls) {
  const TypeTable types = TypeTable::Builtin();
  for (const Json& vector : ReadVectors("protobuf.jsonl")) {
    SCOPED_TRACE(vector["groupVersion"].dump() + vector["kind"].dump());
    Json normalized = vector["json"];
    NormalizeBuiltin(TypeOf(types, vector), normalized);
    for (const Json& step : Json::diff(vector["json"], normalized)) {
      const Json::json_pointer path(step["path"].get<std::string>());
      EXPECT_EQ(step["op"], "remove") << step;
      EXPECT_TRUE(vector["json"].at(path).is_null()) << step;
    }
  }
}

TEST(ProtobufTest, RefusesBodiesWithoutPrefixOrKind) {
  const TypeTable types = TypeTable::Builtin();
  EXPECT_FALSE(IsProtobufBody("{}"));
  EXPECT_THAT(DecodeProtobuf(types, "{}").error().message, HasSubstr("expected prefix"));
  EXPECT_THAT(DecodeProtobuf(types, std::string("k8s\0", 4)).error().message,
              HasSubstr("no kind \"\" is registered"));
  // The URL's kind stands in for one that the envelope does not name.
  EXPECT_TRUE(DecodeProtobuf(types, std::string("k8s\0", 4), "v1", "ConfigMap"));
}

TEST(ProtobufTest, ReplacesBytesThatAreNotUtf8) {
  const TypeTable types = TypeTable::Builtin();
  // metadata {1: {1: name "a\xFF"}} of a ConfigMap.
  const std::string body = std::string("k8s\0", 4) + "\x12\x06\x0a\x04\x0a\x02" + "a\xff";
  const auto decoded = DecodeProtobuf(types, body, "v1", "ConfigMap");
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ((*decoded)["metadata"]["name"], "a\xEF\xBF\xBD");
  EXPECT_NO_THROW((void)decoded->dump());
}

TEST(ProtobufTest, SurvivesTruncatedAndCorruptedBodies) {
  const TypeTable types = TypeTable::Builtin();
  std::uint32_t state = 12345;
  std::size_t refused = 0;
  for (const Json& vector : ReadVectors("protobuf.jsonl")) {
    const std::string body = *Base64Decode(vector["protobuf"].get<std::string>());
    for (std::size_t i = 0; i < 40; ++i) {
      state = state * 1664525U + 1013904223U;
      std::string bent = body.substr(0, 4 + state % (body.size() - 3));
      state = state * 1664525U + 1013904223U;
      if (i % 2 == 0 && bent.size() > 5) bent[4 + state % (bent.size() - 4)] ^= 0x55;
      const auto decoded = DecodeProtobuf(types, bent);
      if (!decoded) ++refused;
      // An accepted text must be serialisable again.
      EXPECT_TRUE(!decoded || !decoded->dump().empty());
    }
  }
  EXPECT_GT(refused, 100U);
}

}  // namespace
}  // namespace berth::local

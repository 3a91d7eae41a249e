// Goal: a file of a user is read alike as JSON and as YAML: repeated keys are named, and texts that
// only begin like JSON are YAML.
#include "view/manifest_files.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace berth::view {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ManifestFiles, JsonNamesItsRepeatedKeys) {
  const auto read = ParseManifestText("\n {\"data\": {\"a\": 1, \"a\": 2}}\n");
  ASSERT_TRUE(read.has_value()) << read.error().message;
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ(read->front().value, nlohmann::json({{"data", {{"a", 2}}}}));
  EXPECT_THAT(read->front().duplicate_keys, ElementsAre("data.a"));
}

TEST(ManifestFiles, TextThatBeginsLikeJsonMayBeYaml) {
  const auto flow = ParseManifestText("{kind: Namespace, metadata: {name: a}} # one\n");
  ASSERT_TRUE(flow.has_value()) << flow.error().message;
  ASSERT_EQ(flow->size(), 1U);
  EXPECT_EQ(flow->front().value["metadata"]["name"], "a");
  EXPECT_THAT(flow->front().duplicate_keys, IsEmpty());

  const auto stream = ParseManifestText("{\"kind\": \"A\"}\n---\n{\"kind\": \"B\"}\n");
  ASSERT_TRUE(stream.has_value()) << stream.error().message;
  ASSERT_EQ(stream->size(), 2U);
  EXPECT_EQ(stream->back().value["kind"], "B");
}

TEST(ManifestFiles, DeepJsonIsRefused) {
  const std::size_t depth = LimitsOfManifests(0).max_depth + 1;
  std::string text = "1";
  for (std::size_t i = 0; i < depth; ++i) text = "{\"a\":" + text + "}";
  EXPECT_FALSE(ParseManifestText(text).has_value());
}

}  // namespace
}  // namespace berth::view

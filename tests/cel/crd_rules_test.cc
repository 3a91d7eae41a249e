// Goal: every rule of Berth's own CRDs compiles. Method: all x-kubernetes-validations of
// manifests/crds.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "api/yaml/yaml.h"
#include "cel/containers.h"
#include "tests/cel/support.h"

namespace berth::cel {
namespace {

void CollectRules(const Json& schema, std::vector<std::string>& rules) {
  if (schema.is_array()) {
    for (const Json& element : schema) CollectRules(element, rules);
  }
  if (!schema.is_object()) return;
  for (const auto& [key, value] : schema.items()) {
    if (key != "x-kubernetes-validations") {
      CollectRules(value, rules);
      continue;
    }
    for (const Json& rule : value) rules.push_back(rule.at("rule"));
  }
}

TEST(CrdRules, Compile) {
  std::vector<std::string> rules;
  for (const auto& file : std::filesystem::directory_iterator(BERTH_CRDS)) {
    std::ifstream stream(file.path());
    std::stringstream text;
    text << stream.rdbuf();
    const auto documents = api::ParseYamlStream(text.str());
    ASSERT_TRUE(documents.has_value()) << file.path() << documents.error().message;
    for (const auto& document : *documents) CollectRules(document.value, rules);
  }
  EXPECT_GT(rules.size(), 50U);
  const Environment environment{.variables = {"self", "oldSelf"}};
  for (const std::string& rule : rules) {
    const auto program = Compile(rule, environment);
    EXPECT_TRUE(program.has_value()) << (program ? "" : program.error().message);
  }
}

}  // namespace
}  // namespace berth::cel

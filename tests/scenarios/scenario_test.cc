// Goal: every SUBJECT/*.scenario of this folder passes, and runs the same way each time. Method: a
// new world in virtual time for each; files are found at the start of the program.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "admission/own_rules.h"
#include "base/log/log.h"
#include "scenarios/teller.h"

namespace berth::scenarios {
namespace {

namespace fs = std::filesystem;

// By path without its ending: "quota/pods-are-counted".
std::vector<std::string> FindStories() {
  const fs::path folder = BERTH_SCENARIO_FOLDER;
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".scenario") continue;
    names.push_back(fs::relative(entry.path(), folder).replace_extension().generic_string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string ReadText(const std::string& name) {
  std::ifstream file(std::string(BERTH_SCENARIO_FOLDER) + "/" + name + ".scenario");
  return {std::istreambuf_iterator<char>(file), {}};
}

Result<Script> ReadScript(const std::string& name) { return ParseScript(ReadText(name)); }

class ScenarioTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ScenarioTest, StoryMeetsEveryExpectation) {
  const auto script = ReadScript(GetParam());
  ASSERT_TRUE(script) << GetParam() << ".scenario: " << script.error().message;
  const auto world = sim::SimWorld::Start({});
  ASSERT_TRUE(world) << world.error().message;
  Teller teller(**world, BERTH_MANIFEST_FOLDER);
  const auto failure = teller.Tell(*script);
  if (failure) {
    ADD_FAILURE() << GetParam() << ".scenario:" << failure->line << ": " << failure->source
                  << "\n  " << failure->found << "\nThe story so far:\n"
                  << teller.chronicle().Text(kToldLines);
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  if (std::getenv("BERTH_TELL") != nullptr) {
    std::fputs(teller.chronicle().Text(SIZE_MAX).c_str(), stdout);
  }
}

std::string TestName(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Stories, ScenarioTest, ::testing::ValuesIn(FindStories()), TestName);

// The stories with the line "# shows: RULE" or "# shows: NAME, RULE".
std::vector<std::string> StoriesOf(const std::string& rule) {
  std::vector<std::string> names;
  for (const std::string& name : FindStories()) {
    const std::string text = ReadText(name);
    const auto shows = text.find("# shows: ");
    if (shows == std::string::npos) continue;
    const std::string subjects = text.substr(shows, text.find('\n', shows) - shows) + ",";
    if (subjects.find(" " + rule + ",") != std::string::npos) names.push_back(name);
  }
  return names;
}

// `text` with the rule switched off by the configuration that the controllers read.
std::string SwitchedOff(std::string text, const std::string& rule) {
  const std::string off = "berth: {rules: {" + rule + ": false}}\n";
  const std::string config = "config <<EOF\n";
  const auto own = text.find("\n" + config);
  if (own == std::string::npos) return config + off + "EOF\n" + text;
  return text.insert(own + 1 + config.size(), off);
}

class OwnRuleTest : public ::testing::TestWithParam<std::string_view> {};

// At least one of the stories that show a rule goes wrong with the rule switched off.
TEST_P(OwnRuleTest, RuleSwitchedOffChangesAStoryThatShowsIt) {
  const std::string rule(GetParam());
  const auto stories = StoriesOf(rule);
  // subjects.md says why these have no story; tests/admission/controller/own_rules_test.cc has
  // them.
  for (const char* other :
       {"rescan-after-changes", "spare-the-preempted", "park-heads-not-tried"}) {
    if (rule != other) continue;
    EXPECT_TRUE(stories.empty()) << "a story that shows the rule can fail without it";
    return;
  }
  int changed = 0;
  for (const std::string& story : stories) {
    const auto script = ParseScript(SwitchedOff(ReadText(story), rule));
    ASSERT_TRUE(script) << story << ": " << script.error().message;
    const auto world = sim::SimWorld::Start({});
    ASSERT_TRUE(world) << world.error().message;
    const auto failure = Teller(**world, BERTH_MANIFEST_FOLDER).Tell(*script);
    if (!failure) continue;
    EXPECT_NE(failure->source.rfind("config", 0), 0U) << failure->found;
    ++changed;
  }
  EXPECT_GT(changed, 0) << stories.size() << " stories go the same way without " << rule;
}

INSTANTIATE_TEST_SUITE_P(Rules, OwnRuleTest, ::testing::ValuesIn(admission::RuleNames()),
                         [](const auto& rule) {
                           std::string name(rule.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Compares the chronicles of two runs.
TEST(ScenarioDeterminism, EqualStoriesGiveEqualTraces) {
  const auto script = ReadScript("provisioning/s01-t4");
  ASSERT_TRUE(script) << script.error().message;
  std::vector<std::uint64_t> hashes;
  std::vector<std::vector<std::string>> stories;
  for (int round = 0; round < 2; ++round) {
    const auto world = sim::SimWorld::Start({});
    ASSERT_TRUE(world) << world.error().message;
    Teller teller(**world, BERTH_MANIFEST_FOLDER);
    teller.Tell(*script);
    hashes.push_back((*world)->trace_hash());
    stories.push_back(teller.chronicle().lines());
  }
  EXPECT_EQ(stories[0], stories[1]);
  EXPECT_EQ(hashes[0], hashes[1]);
}

}  // namespace
}  // namespace berth::scenarios

int main(int argc, char** argv) {
  // Stories contain faults, whose log lines would hide the result.
  berth::ConfigureLog(std::getenv("BERTH_LOG") != nullptr ? berth::LogLevel::kDebug
                                                          : berth::LogLevel::kError);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

// Goal: inputs that the fuzzers have found stay fixed, in every build.
// Method: each target reads the texts of corpus/TARGET/ and found/TARGET/.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/fuzz/targets.h"

namespace berth::fuzz {
namespace {

std::vector<std::filesystem::path> TextsOf(const std::string& target) {
  std::vector<std::filesystem::path> texts;
  for (const char* kind : {"corpus", "found"}) {
    const std::filesystem::path folder = std::filesystem::path(BERTH_FUZZ_FOLDER) / kind / target;
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.is_regular_file()) texts.push_back(entry.path());
    }
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class CorpusTest : public ::testing::TestWithParam<Target> {};

TEST_P(CorpusTest, EveryKnownInputIsReadWithoutAFault) {
  const std::vector<std::filesystem::path> texts = TextsOf(GetParam().name);
  EXPECT_FALSE(texts.empty()) << "tests/fuzz/corpus/" << GetParam().name << " has no text";
  for (const std::filesystem::path& path : texts) {
    SCOPED_TRACE(path.string());
    GetParam().run(ReadText(path));
  }
}
INSTANTIATE_TEST_SUITE_P(Targets, CorpusTest,
                         ::testing::ValuesIn(Targets().begin(), Targets().end()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(CorpusFolderTest, HoldsKnownTargetsOnly) {
  for (const char* kind : {"corpus", "found"}) {
    const std::filesystem::path folder = std::filesystem::path(BERTH_FUZZ_FOLDER) / kind;
    if (!std::filesystem::exists(folder)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (!entry.is_directory()) continue;
      EXPECT_NE(FindTarget(entry.path().filename().string()), nullptr) << entry.path();
    }
  }
}

}  // namespace
}  // namespace berth::fuzz

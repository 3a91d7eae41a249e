// Goal: every subject, and every difference from Kueue, has a story. Method: the names in
// subjects.md and docs/reference/differences.md, compared with the lines "# shows:" of the stories.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace berth::scenarios {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kShows = "# shows:";

std::vector<std::string> LinesOf(const fs::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

// The cells of "| a | b |"; none for other lines and for those that are no data.
std::vector<std::string> CellsOf(const std::string& line) {
  std::vector<std::string> cells;
  if (line.rfind("| ", 0) != 0) return cells;
  for (const std::string_view cell : Split(line, '|')) cells.push_back(Trimmed(cell));
  if (cells.size() < 3 || cells[1] == "name") return {};
  return cells;
}

std::set<std::string> Differences() {
  std::set<std::string> names;
  for (const std::string& line :
       LinesOf(fs::path(BERTH_SOURCE_FOLDER) / "docs/reference/differences.md")) {
    if (const auto cells = CellsOf(line); !cells.empty()) names.insert(cells[1]);
  }
  return names;
}

struct Subjects {
  std::set<std::string> names;
  std::map<std::string, std::string> elsewhere;  // → the test
};

Subjects ReadSubjects() {
  Subjects subjects;
  for (const std::string& line : LinesOf(fs::path(BERTH_SCENARIO_FOLDER) / "subjects.md")) {
    if (line.rfind("- ", 0) == 0) subjects.names.insert(line.substr(2));
    if (const auto cells = CellsOf(line); !cells.empty()) subjects.elsewhere[cells[1]] = cells[2];
  }
  return subjects;
}

// The names that stories show, with the story of each.
std::map<std::string, std::string> Shown() {
  std::map<std::string, std::string> shown;
  for (const auto& entry : fs::recursive_directory_iterator(BERTH_SCENARIO_FOLDER)) {
    if (entry.path().extension() != ".scenario") continue;
    for (const std::string& line : LinesOf(entry.path())) {
      if (line.rfind(kShows, 0) != 0) continue;
      const std::string_view names = std::string_view(line).substr(kShows.size());
      for (const std::string_view name : Split(names, ',')) {
        shown[Trimmed(name)] = entry.path().stem().string();
      }
    }
  }
  return shown;
}

TEST(SubjectsTest, EveryDifferenceAndSubjectHasAStoryOrATest) {
  const std::map<std::string, std::string> shown = Shown();
  const Subjects subjects = ReadSubjects();
  std::set<std::string> known = Differences();
  ASSERT_GT(known.size(), 30U);
  ASSERT_GT(subjects.names.size(), 60U);
  known.insert(subjects.names.begin(), subjects.names.end());
  for (const std::string& name : known) {
    EXPECT_TRUE((shown.count(name) > 0) != (subjects.elsewhere.count(name) > 0))
        << name << ": a story that says \"# shows: " << name
        << "\", or a row under \"Told elsewhere\", not both";
  }
  for (const auto& [name, story] : shown) {
    EXPECT_EQ(known.count(name), 1U) << story << " shows \"" << name << "\", which stands nowhere";
  }
}

// The folder is the story's subject, and the first word of its name in ctest.
TEST(SubjectsTest, EveryStoryStandsInTheFolderOfASubject) {
  const fs::path folder = BERTH_SCENARIO_FOLDER;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".scenario") continue;
    EXPECT_EQ(entry.path().parent_path().parent_path(), folder) << entry.path();
  }
}

TEST(SubjectsTest, TestsThatReplaceAStoryExist) {
  const std::set<std::string> differences = Differences();
  for (const auto& [name, test] : ReadSubjects().elsewhere) {
    EXPECT_EQ(differences.count(name), 1U) << name;
    EXPECT_TRUE(fs::exists(fs::path(BERTH_SOURCE_FOLDER) / test)) << test;
  }
}

}  // namespace
}  // namespace berth::scenarios

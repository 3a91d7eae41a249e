#include "scenarios/command.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/log/log.h"
#include "scenarios/junit.h"
#include "scenarios/teller.h"
#include "view/manifest_files.h"
#include "view/output.h"

namespace berth::scenarios {
namespace {

namespace fs = std::filesystem;

constexpr char kEnding[] = ".scenario";

struct ScenarioFile {
  std::string name;  // the path below the given folder, without its ending
  std::string path;
};

// The scenarios of one given path. kNotFound: no such path, or no scenario below it.
Result<std::vector<ScenarioFile>> FilesBelow(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (!fs::exists(path, error)) return Error{ErrorCode::kNotFound, path + ": no such file"};
    return std::vector<ScenarioFile>{{fs::path(path).stem().string(), path}};
  }
  std::vector<ScenarioFile> files;
  for (auto entry = fs::recursive_directory_iterator(path, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() != kEnding) continue;
    const fs::path name = entry->path().lexically_relative(path).replace_extension();
    files.push_back({name.generic_string(), entry->path().lexically_normal().string()});
  }
  if (error) return Error{ErrorCode::kUnavailable, path + ": " + error.message()};
  if (files.empty()) {
    return Error{ErrorCode::kNotFound, path + ": no file there ends in " + kEnding};
  }
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return files;
}

Result<std::vector<ScenarioFile>> FilesOf(const TestFlags& flags) {
  std::vector<ScenarioFile> all;
  for (const std::string& path : flags.paths) {
    BERTH_TRY(std::vector<ScenarioFile> files, FilesBelow(path));
    for (ScenarioFile& file : files) {
      if (file.name.find(flags.only) != std::string::npos) all.push_back(std::move(file));
    }
  }
  if (all.empty()) {
    return Error{ErrorCode::kNotFound, "no scenario has \"" + flags.only + "\" in its name"};
  }
  return all;
}

// Fills the failure of `outcome`.
void Play(const ScenarioFile& file, const TestFlags& flags, Outcome& outcome) {
  const auto text = view::ReadTextFile(file.path);
  const auto script = text ? ParseScript(*text) : Result<Script>(text.error());
  if (!script) {
    outcome.failure = script.error().message;
    return;
  }
  const auto world = sim::SimWorld::Start({});
  if (!world) {
    outcome.failure = "the cluster of the scenario did not start: " + world.error().message;
    return;
  }
  const std::string folder = fs::path(file.path).parent_path().string();
  Teller teller(**world, !flags.manifests.empty() ? flags.manifests
                         : folder.empty()         ? "."
                                                  : folder);
  if (const auto failure = teller.Tell(*script)) {
    outcome.line = failure->line;
    outcome.step = failure->source;
    outcome.failure = failure->found;
  }
  if (flags.verbose || !outcome.failure.empty()) {
    outcome.story = teller.chronicle().Text(flags.verbose ? SIZE_MAX : kToldLines);
  }
}

std::string Told(const Outcome& outcome) {
  const double seconds = std::chrono::duration<double>(outcome.took).count();
  if (outcome.failure.empty()) {
    return fmt::format("ok      {}  ({:.2f} s)\n{}", outcome.name, seconds, outcome.story);
  }
  const std::string place =
      outcome.line == 0 ? outcome.file : fmt::format("{}:{}", outcome.file, outcome.line);
  return fmt::format("FAILED  {}  ({:.2f} s)\n  {}: {}\n  {}\n{}", outcome.name, seconds, place,
                     outcome.step, outcome.failure, outcome.story);
}

}  // namespace

int RunTest(const TestFlags& flags) {
  ConfigureLog(LogLevel::kError);  // faults of a scenario are logged as warnings
  const auto files = FilesOf(flags);
  if (!files) {
    view::Complain(files.error());
    return view::kExitUsage;
  }
  std::vector<Outcome> outcomes;
  std::size_t failed = 0;
  for (const ScenarioFile& file : *files) {
    Outcome outcome{.name = file.name, .file = file.path};
    const auto begin = std::chrono::steady_clock::now();
    Play(file, flags, outcome);
    outcome.took = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begin);
    if (!outcome.failure.empty()) ++failed;
    view::Print(Told(outcome));
    outcomes.push_back(std::move(outcome));
  }
  view::Print(fmt::format("{} {}: {} passed, {} failed\n", outcomes.size(),
                          outcomes.size() == 1 ? "scenario" : "scenarios", outcomes.size() - failed,
                          failed));
  if (!flags.junit.empty() && !view::WriteTextFile(flags.junit, JunitReport(outcomes))) {
    view::Complain({ErrorCode::kUnavailable, flags.junit + ": cannot be written"});
    return view::kExitUsage;
  }
  return failed == 0 ? view::kExitAnswered : view::kExitRefused;
}

}  // namespace berth::scenarios

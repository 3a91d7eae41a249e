// Goal: every row of the table of admission checks is complete: lint, adopt, plan and --controllers
// know its controller, its rights are given, its reasons have a remedy, its code has a folder.
// Method: each of these is asked about the row; a row that the table does not have gets every
// fault.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/yaml/yaml.h"
#include "checks/check_kinds.h"
#include "program/controller_selection.h"
#include "simulation/lint.h"
#include "view/screens/adoption.h"
#include "view/screens/plan_screen.h"

namespace berth::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Json = nlohmann::json;
namespace fs = std::filesystem;

const fs::path kProject(BERTH_PROJECT);

std::string TextOf(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  return text.str();
}

// Reasons that tools/reasons.txt has a remedy for.
std::set<std::string> Remedies() {
  std::set<std::string> reasons;
  std::istringstream lines(TextOf(kProject / "tools/reasons.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#")) reasons.insert(line.substr(0, line.find(" | ")));
  }
  return reasons;
}

// "GROUP RESOURCE VERB" of the rules for all objects of a resource.
std::set<std::string> GivenRights() {
  std::set<std::string> rights;
  const auto documents =
      api::ParseYamlStream(TextOf(kProject / "manifests/rbac/manager_role.yaml"));
  for (const api::YamlDocument& document : *documents) {
    for (const Json& rule : document.value.value("rules", Json::array())) {
      if (rule.contains("resourceNames")) continue;
      for (const std::string group : rule.value("apiGroups", Json::array())) {
        for (const std::string resource : rule.value("resources", Json::array())) {
          for (const std::string verb : rule.value("verbs", Json::array())) {
            rights.insert(group + " " + resource + " " + verb);
          }
        }
      }
    }
  }
  return rights;
}

std::set<std::string> RightsOf(const CheckKind& row) {
  std::set<std::string> rights;
  for (const Right& right : row.rights) {
    for (const char* verb : right.verbs) {
      rights.insert(std::string(right.group) + " " + right.resource + " " + verb);
    }
  }
  return rights;
}

api::AdmissionCheck CheckOf(const CheckKind& row) {
  api::AdmissionCheck check;
  check.meta.name = "check";
  check.controller_name = row.controller_name;
  return check;
}

std::vector<std::string> LintRules(const CheckKind& row, bool has_parameters) {
  simulation::LintInput input;
  api::AdmissionCheck check = CheckOf(row);
  if (has_parameters && !row.parameters_kinds.empty()) {
    const ParametersKind& kind = row.parameters_kinds.front();
    check.parameters = {kind.group, kind.kind, "given"};
    input.parameters.insert(std::string(kind.kind) + "/given");
  }
  input.checks.push_back(check);
  std::vector<std::string> rules;
  for (const auto& finding : simulation::LintQueues(input)) {
    if (finding.kind == "AdmissionCheck") rules.push_back(finding.rule);
  }
  return rules;
}

// Whether `berth adopt` says what the row says.
bool IsAdopted(const CheckKind& row) {
  view::AdoptionReport report;
  view::CheckAdoptionOf(
      "admissionchecks",
      {{{"metadata", {{"name", "check"}}}, {"spec", {{"controllerName", row.controller_name}}}}},
      report);
  const bool stays = row.adoption == Adoption::kStays;
  if (stays) {
    return report.taken_over.empty() && report.findings.size() == 1 &&
           report.findings[0].grade == view::AdoptionGrade::kStays;
  }
  for (const ParametersKind& kind : row.parameters_kinds) {
    view::CheckAdoptionOf(kind.plural, {{{"metadata", {{"name", "given"}}}}}, report);
  }
  return report.findings.empty() && report.taken_over.size() == 1 + row.parameters_kinds.size();
}

// Whether `berth plan` tells when the nodes of a check come, where the check brings nodes.
bool IsPlanned(const CheckKind& row) {
  view::ClusterView view;
  api::ClusterQueue& queue = view.cluster_queues.emplace_back();
  queue.meta.name = "queue";
  queue.spec.admission_checks = {{.check = "check"}};
  api::LocalQueue& local = view.local_queues.emplace_back();
  local.meta = {.namespace_name = "default", .name = "local"};
  local.cluster_queue = "queue";
  view.admission_checks = {CheckOf(row)};
  view::PlannedJob job{.kind = "Job", .name = "job"};
  job.workload.meta = {.namespace_name = "default", .name = "job"};
  job.workload.spec.queue_name = "local";
  job.workload.spec.pod_sets.emplace_back().count = 1;
  const auto plan = view::MakePlan(view, job);
  if (!plan || plan->checks.size() != 1) return false;
  const bool is_foreign = plan->checks[0].problem.starts_with("answered by ");
  return is_foreign == (row.capacity == Capacity::kNone) &&
         plan->checks[0].is_reactive == (row.capacity == Capacity::kPendingPods);
}

// Whether --controllers=FOLDER selects the checks of the folder alone.
bool IsSelected(const CheckKind& row) {
  const auto selection = program::ParseControllers(row.folder);
  return selection && selection->checks == std::set<std::string>{row.folder} && !selection->core;
}

bool HasRights(const CheckKind& row) {
  const std::set<std::string> given = GivenRights();
  const std::set<std::string> needed = RightsOf(row);
  const bool has_parameters = std::all_of(
      row.parameters_kinds.begin(), row.parameters_kinds.end(), [&](const ParametersKind& kind) {
        const std::string of = std::string(kind.group) + " " + kind.plural + " ";
        return needed.contains(of + "list") && needed.contains(of + "watch");
      });
  return has_parameters && !needed.empty() &&
         std::includes(given.begin(), given.end(), needed.begin(), needed.end());
}

bool HasRemedies(const CheckKind& row) {
  const std::set<std::string> known = Remedies();
  return !row.reasons.empty() &&
         std::all_of(row.reasons.begin(), row.reasons.end(),
                     [&](const char* reason) { return known.contains(reason); });
}

// Sources outside of tests/ that spell the name of the controller. api/ has the names that objects
// of other kinds have too.
std::vector<std::string> NamersOf(const CheckKind& row) {
  const std::string name = "\"" + std::string(row.controller_name) + "\"";
  std::vector<std::string> namers;
  for (const auto& folder : fs::directory_iterator(kProject)) {
    const std::string top = folder.path().filename();
    if (!folder.is_directory() || !fs::exists(folder.path() / "CMakeLists.txt") || top == "tests" ||
        top == "checks" || top == "api" || top == row.folder) {
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const fs::path extension = entry.path().extension();
      if (extension != ".cc" && extension != ".h") continue;
      if (TextOf(entry.path()).find(name) != std::string::npos) namers.push_back(entry.path());
    }
  }
  return namers;
}

std::vector<std::string> FaultsOf(const CheckKind& row) {
  std::vector<std::string> faults;
  const auto note = [&faults](bool holds, const char* fault) {
    if (!holds) faults.emplace_back(fault);
  };
  const bool needs_parameters = !row.parameters_kinds.empty();
  note(LintRules(row, true).empty(), "lint warns of a complete check");
  note(!needs_parameters ||
           LintRules(row, false) == std::vector<std::string>{"check-without-parameters"},
       "lint misses the parameters");
  note(IsAdopted(row), "adopt says something else");
  note(IsPlanned(row), "plan says something else");
  note(IsSelected(row), "--controllers has no such word");
  note(HasRights(row), "a right is not given");
  note(HasRemedies(row), "a reason has no remedy");
  note(fs::is_directory(kProject / row.folder / "controller"), "no folder with controllers");
  return faults;
}

TEST(CheckRowsTest, EveryRowIsComplete) {
  ASSERT_FALSE(CheckKinds().empty());
  for (const CheckKind& row : CheckKinds()) {
    EXPECT_THAT(FaultsOf(row), IsEmpty()) << row.controller_name;
  }
}

TEST(CheckRowsTest, OnlyTheFolderOfARowNamesItsController) {
  for (const CheckKind& row : CheckKinds()) EXPECT_THAT(NamersOf(row), IsEmpty());
  EXPECT_THAT(NamersOf({.controller_name = "kueue-controller-manager", .folder = "queue"}),
              testing::Not(IsEmpty()));
}

TEST(CheckRowsTest, UnknownRowHasEveryFault) {
  constexpr ParametersKind kKinds[] = {{"example.com", "v1", "Unknown", "unknowns"}};
  constexpr const char* kReasons[] = {"NotWritten"};
  const CheckKind row{.controller_name = "example.com/unknown",
                      .folder = "unknown",
                      .parameters_kinds = kKinds,
                      .capacity = Capacity::kRequested,
                      .adoption = Adoption::kTakenOver,
                      .reasons = kReasons,
                      .rights = {}};
  EXPECT_THAT(FaultsOf(row),
              ElementsAre("lint warns of a complete check", "lint misses the parameters",
                          "adopt says something else", "plan says something else",
                          "--controllers has no such word", "a right is not given",
                          "a reason has no remedy", "no folder with controllers"));
}

TEST(CheckRowsTest, ARowNeedsRightsAndReasons) {
  CheckKind row = CheckKindWith(Capacity::kPendingPods);
  row.rights = {};
  row.reasons = {};
  EXPECT_THAT(FaultsOf(row), ElementsAre("a right is not given", "a reason has no remedy"));
}

}  // namespace
}  // namespace berth::checks

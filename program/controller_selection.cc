#include "program/controller_selection.h"

#include <string_view>

#include "base/strings.h"
#include "checks/check_kinds.h"
#include "integrations/kind_catalogue.h"

namespace berth::program {
namespace {

constexpr std::string_view kJobs = "jobs/";

// False: `all` lacks the name.
bool Put(std::set<std::string>& selected, const std::set<std::string>& all, const std::string& name,
         bool run) {
  if (!all.contains(name)) return false;
  if (run) {
    selected.insert(name);
  } else {
    selected.erase(name);
  }
  return true;
}

// False: no controller has that name.
bool Set(ControllerSelection& selection, std::string_view name, bool run) {
  if (name == "core") {
    selection.core = run;
  } else if (name == "scheduler") {
    selection.scheduler = run;
  } else if (name == "tas") {
    selection.tas = run;
  } else if (name == "elasticjobs") {
    selection.elasticjobs = run;
  } else if (name.starts_with(kJobs)) {
    return Put(selection.jobs, AllFrameworks(), std::string(name.substr(kJobs.size())), run);
  } else {
    return Put(selection.checks, AllCheckFolders(), std::string(name), run);
  }
  return true;
}

}  // namespace

std::set<std::string> AllFrameworks() {
  std::set<std::string> names{std::string(integrations::kBatchJob.framework),
                              std::string(integrations::kPod.framework)};
  for (const integrations::KindPtr& kind : integrations::BuiltInKinds()) {
    names.emplace(kind->kind.framework);
  }
  return names;
}

std::set<std::string> AllCheckFolders() {
  std::set<std::string> folders;
  for (const checks::CheckKind& check : checks::CheckKinds()) folders.insert(check.folder);
  return folders;
}

std::string ControllerWords() {
  std::string words = "core, scheduler, tas, ";
  for (const std::string& folder : AllCheckFolders()) words += folder + ", ";
  return words + "elasticjobs";
}

Result<ControllerSelection> ParseControllers(const std::string& list) {
  ControllerSelection selection{.core = false,
                                .scheduler = false,
                                .tas = false,
                                .elasticjobs = false,
                                .checks = {},
                                .jobs = {}};
  if (TrimSpace(list).empty()) return selection;
  for (const std::string_view item : Split(list, ',')) {
    const std::string_view word = TrimSpace(item);
    if (word == "*") {
      selection = ControllerSelection{};
      continue;
    }
    const bool run = !word.starts_with('-');
    if (Set(selection, run ? word : word.substr(1), run)) continue;
    return Error{ErrorCode::kInvalid, "--controllers: \"" + std::string(word) +
                                          "\" is not one of " + ControllerWords() +
                                          ", jobs/NAME (as in integrations.frameworks), * (all), "
                                          "or one of these with a leading -"};
  }
  return selection;
}

}  // namespace berth::program

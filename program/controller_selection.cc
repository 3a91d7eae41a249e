#include "program/controller_selection.h"

#include <string_view>

#include "base/strings.h"
#include "integrations/kind_catalogue.h"

namespace berth::program {
namespace {

constexpr std::string_view kJobs = "jobs/";

// False: no controller has that name.
bool Set(ControllerSelection& selection, std::string_view name, bool run) {
  if (name == "core") {
    selection.core = run;
  } else if (name == "scheduler") {
    selection.scheduler = run;
  } else if (name == "tas") {
    selection.tas = run;
  } else if (name == "provisioning") {
    selection.provisioning = run;
  } else if (name == "elasticjobs") {
    selection.elasticjobs = run;
  } else if (name.starts_with(kJobs)) {
    const std::string framework(name.substr(kJobs.size()));
    if (!AllFrameworks().contains(framework)) return false;
    if (run) {
      selection.jobs.insert(framework);
    } else {
      selection.jobs.erase(framework);
    }
  } else {
    return false;
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

Result<ControllerSelection> ParseControllers(const std::string& list) {
  ControllerSelection selection{.core = false,
                                .scheduler = false,
                                .tas = false,
                                .provisioning = false,
                                .elasticjobs = false,
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
    return Error{ErrorCode::kInvalid,
                 "--controllers: \"" + std::string(word) +
                     "\" is not one of core, scheduler, tas, provisioning, elasticjobs, "
                     "jobs/NAME (as in integrations.frameworks), * (all), or one of them behind a "
                     "minus"};
  }
  return selection;
}

}  // namespace berth::program

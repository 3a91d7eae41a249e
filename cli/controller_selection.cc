#include "cli/controller_selection.h"

#include <string_view>

#include "base/strings.h"

namespace berth::cli {
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
  } else if (name == "jobs/batch/job") {
    const std::string framework(name.substr(kJobs.size()));
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
                     "jobs/batch/job, * (all), or one of them behind a minus"};
  }
  return selection;
}

}  // namespace berth::cli

#include "cli/lint_command.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "cli/lint_findings.h"
#include "program/configuration_file.h"
#include "simulation/lint.h"
#include "view/manifest_objects.h"
#include "view/output.h"

namespace berth::cli {
namespace {

using Json = nlohmann::json;
using simulation::LintSeverity;

std::string LintText(const std::vector<view::PlacedFinding>& findings,
                     const std::vector<std::string>& notes) {
  std::string text;
  for (const view::PlacedFinding& each : findings) text += view::ProblemText(each) + "\n";
  for (const std::string& note : notes) text += "note: " + note + "\n";
  return text;
}

Json LintJson(const std::vector<view::PlacedFinding>& findings,
              const std::vector<std::string>& notes) {
  Json list = Json::array();
  for (const auto& [place, each] : findings) {
    list.push_back({{"file", place.file},
                    {"line", place.line},
                    {"severity", ToString(each.severity)},
                    {"rule", each.rule},
                    {"kind", each.kind},
                    {"name", each.name},
                    {"field", Join(each.field, ".")},
                    {"message", each.message}});
  }
  return {{"findings", std::move(list)}, {"notes", notes}};
}

std::string Summary(std::size_t errors, std::size_t warnings, std::size_t objects) {
  if (errors + warnings == 0) return std::to_string(objects) + " objects, nothing found\n";
  return std::to_string(errors) + (errors == 1 ? " error, " : " errors, ") +
         std::to_string(warnings) + (warnings == 1 ? " warning\n" : " warnings\n");
}

}  // namespace

int RunLint(const LintFlags& flags) {
  const auto configuration = program::ReadConfigurationFile(flags.config);
  if (!configuration) return view::Complain(configuration.error());
  auto manifests = view::ReadManifestObjects(flags.files, flags.recursive);
  if (!manifests) return view::Complain(manifests.error());
  const admission::SchedulerConfig& scheduler = configuration->admission.driver.scheduler;
  const auto* frameworks = flags.config.empty() ? nullptr : &configuration->frameworks;
  const auto findings = FindingsOf(*manifests, scheduler, frameworks);
  if (!findings) return view::Complain(findings.error());
  const auto errors = static_cast<std::size_t>(
      std::count_if(findings->begin(), findings->end(), [](const view::PlacedFinding& each) {
        return each.finding.severity == LintSeverity::kError;
      }));
  if (flags.output == view::OutputFormat::kText) {
    view::Print(LintText(*findings, manifests->notes) +
                Summary(errors, findings->size() - errors, manifests->objects.size()));
  } else {
    view::PrintStructured(LintJson(*findings, manifests->notes), flags.output);
  }
  const bool refused = errors > 0 || (flags.strict && !findings->empty());
  return refused ? view::kExitRefused : view::kExitAnswered;
}

}  // namespace berth::cli

// `berth what-if`: two forecasts of a cluster, as it is and with a change. Nothing is written.
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "cli/forecast_commands.h"
#include "cli/forecast_source.h"
#include "forecast/forecast_cluster.h"
#include "forecast/forecast_threads.h"
#include "forecast/what_if_changes.h"
#include "view/manifest_objects.h"
#include "view/output.h"
#include "view/read_objects.h"
#include "view/screens/what_if_screen.h"
#include "view/session.h"

namespace berth::cli {
namespace {

bool NamesNoChange(const WhatIfFlags& flags) {
  const forecast::WhatIfOptions& changes = flags.changes;
  return flags.files.empty() && changes.quota.empty() && changes.nodes.empty() &&
         flags.submit.empty() && changes.priority.empty() && changes.stop.empty();
}

// The problems of all files in one error, one line each: a forecast of half the change misleads.
Status ProblemsOf(const std::vector<const view::ManifestObjects*>& read) {
  std::vector<std::string> lines;
  for (const view::ManifestObjects* each : read) {
    for (const view::PlacedFinding& problem : each->problems)
      lines.push_back(view::ProblemText(problem));
  }
  return lines.empty() ? OkStatus() : Status(Error{ErrorCode::kInvalid, Join(lines, "\n")});
}

// Adds places to an error of ChangeView, whose lines name objects.
Error WithPlaces(const Error& error, const view::ManifestPlaces& changed,
                 const view::ManifestPlaces& submitted) {
  std::vector<std::string> lines;
  for (const std::string_view line : Split(error.message, '\n')) {
    view::ManifestPlace place = changed.FindIn(std::string(line));
    if (place.file.empty()) place = submitted.FindIn(std::string(line));
    lines.push_back(
        (place.file.empty() ? "" : place.file + ":" + std::to_string(place.line) + ": ") +
        std::string(line));
  }
  return {error.code, Join(lines, "\n")};
}

Result<view::WhatIfView> MakeView(const WhatIfFlags& flags) {
  BERTH_TRY(const forecast::ForecastCluster before, ReadForecastCluster(flags.forecast));
  BERTH_TRY(view::ManifestObjects files, view::ReadManifestObjects(flags.files, flags.recursive));
  BERTH_TRY(view::ManifestObjects submitted,
            view::ReadManifestObjects(flags.submit, flags.recursive));
  BERTH_CHECK_OK(ProblemsOf({&files, &submitted}));
  if (!flags.files.empty() && files.objects.empty()) {
    return Error{ErrorCode::kInvalid, "-f: the files have no object"};
  }
  if (!flags.submit.empty() && submitted.objects.empty()) {
    return Error{ErrorCode::kInvalid, "--submit: the files have no object"};
  }
  forecast::WhatIfInput input{.options = flags.changes,
                              .changed = std::move(files.objects),
                              .submitted = std::move(submitted.objects),
                              .default_namespace = before.default_namespace};
  std::unique_ptr<view::Session> session;
  if (flags.forecast.from.empty()) {
    BERTH_TRY(session, view::Session::Open(flags.forecast.client));
    input.find = view::ReadsFrom(*session);
  }
  Result<forecast::ChangedView> made = forecast::ChangeView(before.view, input);
  if (!made) return WithPlaces(made.error(), files.places, submitted.places);
  forecast::ChangedView& changed = *made;
  const forecast::ForecastCluster after = forecast::WithView(before, std::move(changed.view));
  const forecast::ForecastJobs jobs_before = forecast::ForecastJobsOf(before);
  const forecast::ForecastJobs jobs_after = forecast::ForecastJobsOf(after);
  simulation::ForecastOptions options = forecast::ForecastOptionsOf(before);
  options.draws = DrawsOf(flags.forecast, jobs_before.jobs.size() + jobs_after.jobs.size());
  options.seed = flags.forecast.seed;
  options.until = simulation::ForecastUntil::kFinished;
  const auto forecast_before =
      forecast::MakeForecastInThreads(before.cluster, jobs_before.jobs, options);
  const auto forecast_after = forecast::MakeForecastInThreads(
      after.cluster, jobs_after.jobs, forecast::ForecastOptionsOf(after, options));
  view::WhatIfView view{.now = before.view.now,
                        .draws = options.draws,
                        .seed = options.seed,
                        .changes = std::move(changed.changes),
                        .notes = std::move(changed.notes)};
  for (const view::ManifestObjects* each : {&files, &submitted}) {
    view.notes.insert(view.notes.end(), each->notes.begin(), each->notes.end());
  }
  view.notes.insert(view.notes.end(), after.notes.begin(), after.notes.end());
  view.jobs = simulation::CompareForecasts({jobs_before.jobs, forecast_before},
                                           {jobs_after.jobs, forecast_after});
  for (const std::string& each : view::NotSeen(before.view)) view.notes.push_back(each);
  return view;
}

}  // namespace

int RunWhatIf(const WhatIfFlags& flags) {
  if (NamesNoChange(flags)) {
    view::Complain({ErrorCode::kInvalid,
                    "name a change: -f, --add-quota, --submit, --priority, --stop-queue or "
                    "--remove-node"});
    return view::kExitUsage;
  }
  const auto view = MakeView(flags);
  if (!view) return view::Complain(view.error());
  const ClientFlags& client = flags.forecast.client;
  if (client.output != view::OutputFormat::kText) {
    view::PrintStructured(view::WhatIfJson(*view), client.output);
  } else {
    view::Print(view::RenderWhatIf(*view, view::DetectStyle(client.ascii)));
  }
  return view::WorseOff(*view) > 0 ? kExitWorseOff : view::kExitAnswered;
}

}  // namespace berth::cli

// `berth what-if`: two forecasts of a cluster, as it is and with a change. Nothing is written.
#include "cli/screens/what_if.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "cli/forecast.h"
#include "cli/forecast_cluster.h"
#include "cli/forecast_threads.h"
#include "cli/manifest_files.h"
#include "cli/manifest_places.h"
#include "cli/output.h"
#include "cli/what_if_changes.h"

namespace berth::cli {
namespace {

bool NamesNoChange(const WhatIfFlags& flags) {
  return flags.files.empty() && flags.quota.empty() && flags.nodes.empty() &&
         flags.submit.empty() && flags.priority.empty() && flags.stop.empty();
}

Result<WhatIfInput> ReadInput(const WhatIfFlags& flags, const ForecastCluster& cluster) {
  WhatIfInput input{.flags = flags, .default_namespace = cluster.default_namespace};
  BERTH_TRY(const std::vector<std::string> files, ManifestsBelow(flags.files));
  BERTH_TRY(input.changed, ReadManifests(files));
  BERTH_TRY(input.submitted, ReadManifests(flags.submit));
  return input;
}

Result<WhatIfView> MakeView(const WhatIfFlags& flags) {
  BERTH_TRY(const ForecastCluster before, ReadForecastCluster(flags.forecast));
  BERTH_TRY(const WhatIfInput input, ReadInput(flags, before));
  Result<ChangedView> made = ChangeView(before.view, input);
  if (!made) {
    BERTH_TRY(std::vector<std::string> files, ManifestsBelow(flags.files));
    files.insert(files.end(), flags.submit.begin(), flags.submit.end());
    return AtPlace(made.error(), files);
  }
  ChangedView& changed = *made;
  const ForecastCluster after = WithView(before, std::move(changed.view));
  const ForecastJobs jobs_before = ForecastJobsOf(before);
  const ForecastJobs jobs_after = ForecastJobsOf(after);
  simulation::ForecastOptions options;
  options.world = before.world;
  options.draws = DrawsOf(flags.forecast, jobs_before.jobs.size() + jobs_after.jobs.size());
  options.seed = flags.forecast.seed;
  options.until = simulation::ForecastUntil::kFinished;
  const auto forecast_before = MakeForecastInThreads(before.cluster, jobs_before.jobs, options);
  const auto forecast_after = MakeForecastInThreads(after.cluster, jobs_after.jobs, options);
  WhatIfView view{.now = before.view.now,
                  .draws = options.draws,
                  .seed = options.seed,
                  .changes = std::move(changed.changes),
                  .notes = std::move(changed.notes)};
  view.notes.insert(view.notes.end(), after.notes.begin(), after.notes.end());
  view.jobs = simulation::CompareForecasts({jobs_before.jobs, forecast_before},
                                           {jobs_after.jobs, forecast_after});
  for (const std::string& each : NotSeen(before.view)) view.notes.push_back(each);
  return view;
}

}  // namespace

int RunWhatIf(const WhatIfFlags& flags) {
  if (NamesNoChange(flags)) {
    Complain({ErrorCode::kInvalid,
              "name a change: -f, --add-quota, --submit, --priority, --stop-queue or "
              "--remove-node"});
    return kExitUsage;
  }
  const auto view = MakeView(flags);
  if (!view) return Complain(view.error());
  const ClientFlags& client = flags.forecast.client;
  if (client.output != OutputFormat::kText) {
    PrintStructured(WhatIfJson(*view), client.output);
  } else {
    Print(RenderWhatIf(*view, DetectStyle(client.ascii)));
  }
  return WorseOff(*view) > 0 ? kExitWorseOff : kExitAnswered;
}

}  // namespace berth::cli

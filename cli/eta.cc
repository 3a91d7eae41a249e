// `berth eta`: when a job starts, by the scheduler in virtual time. Nothing is written.
#include "view/screens/eta.h"

#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/terminal_text.h"
#include "cli/forecast.h"
#include "cli/forecast_source.h"
#include "forecast/eta_notes.h"
#include "forecast/eta_pasts.h"
#include "forecast/eta_scores.h"
#include "forecast/forecast_cluster.h"
#include "forecast/forecast_threads.h"
#include "simulation/standing.h"
#include "view/output.h"
#include "view/session.h"

namespace berth::cli {
namespace {

ForecastQuestion QuestionOf(const EtaFlags& flags, const std::string& default_namespace) {
  return {.reference = flags.reference,
          .all = flags.all,
          .all_namespaces = flags.forecast.client.all_namespaces,
          .namespace_name = flags.forecast.client.namespace_name,
          .default_namespace = default_namespace};
}

constexpr double kLow = 0.1;
constexpr double kMedian = 0.5;
constexpr double kHigh = 0.9;

class EtaMaker {
 public:
  // `scores`: null: no forecast is kept.
  EtaMaker(const EtaFlags& flags, const ForecastCluster& cluster, EtaScores* scores)
      : flags_(flags),
        cluster_(cluster),
        jobs_(ForecastJobsOf(cluster)),
        scores_(scores),
        correction_(CalibrationOf(cluster.view.workloads, cluster.view.now).Now()) {}

  Result<EtaView> Make() {
    EtaView view;
    BERTH_TRY(const std::vector<std::size_t> asked, Asked(view));
    view.now = cluster_.view.now;
    view.notes = cluster_.notes;
    for (const std::string& each : NotSeen(cluster_.view)) view.notes.push_back(each);
    if (scores_ != nullptr) {
      view.hits = EtaHits{.starts = scores_->known(),
                          .within_p50 = scores_->within_p50(),
                          .within_p90 = scores_->within_p90(),
                          .corrects = scores_->corrects()};
    }
    view.controller = ControllerHits(cluster_.view);
    if (asked.empty()) return view;
    simulation::ForecastOptions options;
    options.world = cluster_.world;
    options.draws = DrawsOf(flags_.forecast, jobs_.jobs.size());
    options.seed = flags_.forecast.seed;
    options.asked = asked;
    const simulation::Forecast forecast =
        MakeForecastInThreads(cluster_.cluster, jobs_.jobs, options);
    view.draws = options.draws;
    view.seed = options.seed;
    view.stopped_early = forecast.stopped_early;
    for (const simulation::ForecastJob& each : jobs_.jobs) ++view.basis[each.run->level];
    for (const std::size_t job : asked) AddRow(job, forecast.jobs[job], view);
    SortRows(view);
    return view;
  }

 private:
  // The waiting jobs that the flags name. Jobs that are in no queue become rows at once.
  Result<std::vector<std::size_t>> Asked(EtaView& view) const {
    std::vector<std::size_t> asked;
    std::string running;
    for (std::size_t i = 0; i < jobs_.jobs.size(); ++i) {
      const api::Workload& workload = *jobs_.jobs[i].job.object;
      if (!IsMeant(workload)) continue;
      if (simulation::IsRunning(workload)) {
        running = DisplayName(workload);
      } else {
        asked.push_back(i);
      }
    }
    for (const simulation::NotQueued& each : jobs_.not_queued) {
      if (!IsMeant(*each.workload)) continue;
      view.rows.push_back({.workload = each.workload,
                           .cluster_queue = ClusterQueueOf(cluster_.view, *each.workload),
                           .why = each.why});
    }
    if (flags_.all || !asked.empty() || !view.rows.empty()) return asked;
    if (!running.empty()) return Error{ErrorCode::kConflict, running + " runs already"};
    return Error{ErrorCode::kNotFound, "no job \"" + flags_.reference + "\" waits in namespace " +
                                           cluster_.default_namespace +
                                           " (berth eta --all shows those that do)"};
  }

  bool IsMeant(const api::Workload& workload) const {
    return QuestionOf(flags_, cluster_.default_namespace).Names(workload);
  }

  void AddRow(std::size_t job, const simulation::JobForecast& forecast, EtaView& view) const {
    const simulation::ForecastJob& asked = jobs_.jobs[job];
    EtaRow row{.workload = asked.job.object,
               .cluster_queue = ClusterQueueOf(cluster_.view, *asked.job.object),
               .p10 = forecast.At(kLow),
               .p50 = forecast.At(kMedian),
               .p90 = forecast.At(kHigh),
               .why = forecast.why,
               .run = asked.run,
               .capacity = asked.capacity};
    row.chance =
        static_cast<double>(forecast.Started()) / static_cast<double>(forecast.starts.size());
    if (row.p90 && row.chance == 1) Correct(row, view);
    view.rows.push_back(std::move(row));
  }

  // Corrects the forecast of the row by what earlier ones missed: those of --scores, else those of
  // the controller. Those of --scores are kept.
  void Correct(EtaRow& row, EtaView& view) const {
    const simulation::StartQuantiles raw{*row.p10, *row.p50, *row.p90};
    const bool by_scores = scores_ != nullptr && scores_->corrects();
    const simulation::StartQuantiles told =
        by_scores ? scores_->Corrected(raw) : correction_.Of(raw);
    if (by_scores || correction_.corrects()) ++view.corrected;
    row.p10 = told.p10;
    row.p50 = told.p50;
    row.p90 = told.p90;
    if (scores_ == nullptr) return;
    scores_->Add({.uid = row.workload->meta.uid,
                  .at = ledger::ToSeconds(cluster_.view.now),
                  .raw = raw,
                  .told_p50 = told.p50,
                  .told_p90 = told.p90});
  }

  const EtaFlags& flags_;
  const ForecastCluster& cluster_;
  const ForecastJobs jobs_;
  EtaScores* const scores_;
  const simulation::Correction correction_;  // by the starts that the controller foretold
};

Result<EtaView> DrawEta(const EtaFlags& flags, const ForecastCluster& cluster) {
  if (flags.scores.empty()) return EtaMaker(flags, cluster, nullptr).Make();
  BERTH_TRY(EtaScores scores, EtaScores::Read(flags.scores));
  scores.Resolve(cluster);
  auto view = EtaMaker(flags, cluster, &scores).Make();
  if (view) BERTH_CHECK_OK(scores.Write());
  return view;
}

Result<EtaView> DrawEtaOf(const EtaFlags& flags, ClusterView view,
                          const std::string& default_namespace) {
  BERTH_TRY(const ForecastCluster cluster,
            MakeForecastClusterOf(flags.forecast, std::move(view), default_namespace));
  return DrawEta(flags, cluster);
}

// From the forecasts on the Workloads of the API; where none is fresh, the rest is read, too.
Result<EtaView> EtaOfController(const EtaFlags& flags) {
  const ClientFlags& client = flags.forecast.client;
  const bool all = client.all_namespaces || (flags.all && client.namespace_name.empty());
  BERTH_TRY(const std::unique_ptr<Session> session, Session::Open(client));
  std::string default_namespace;
  BERTH_TRY(ClusterView noted, ReadNotedView(*session, flags.forecast, all, default_namespace));
  const auto view = std::make_shared<ClusterView>(std::move(noted));
  if (auto known = EtaFromNotes(view, QuestionOf(flags, default_namespace)))
    return *std::move(known);
  BERTH_TRY(ClusterView whole,
            ReadBesideNotes(*session, flags.forecast, all, default_namespace, std::move(*view)));
  return DrawEtaOf(flags, std::move(whole), default_namespace);
}

Result<EtaView> MakeEta(const EtaFlags& flags) {
  if (!flags.draw && flags.forecast.from.empty()) return EtaOfController(flags);
  std::string default_namespace;
  BERTH_TRY(ClusterView read, ReadForecastView(flags.forecast, default_namespace));
  const auto view = std::make_shared<ClusterView>(std::move(read));
  if (!flags.draw) {
    if (auto known = EtaFromNotes(view, QuestionOf(flags, default_namespace)))
      return *std::move(known);
  }
  return DrawEtaOf(flags, std::move(*view), default_namespace);
}

}  // namespace

int RunEta(const EtaFlags& flags) {
  if (flags.all != flags.reference.empty()) {
    Complain({ErrorCode::kInvalid, "name a job, such as job/train, or --all"});
    return kExitUsage;
  }
  const auto view = MakeEta(flags);
  if (!view) return Complain(view.error());
  const ClientFlags& client = flags.forecast.client;
  if (client.output == OutputFormat::kJson) {
    Print(TerminalJson(EtaJsonText(*view)) + "\n");
  } else if (client.output == OutputFormat::kYaml) {
    PrintStructured(EtaJson(*view), client.output);
  } else if (flags.all || view->rows.size() != 1) {
    Print(RenderEta(*view, DetectStyle(client.ascii)));
  } else {
    Print(RenderEtaOf(*view, view->rows.front()));
  }
  return kExitAnswered;
}

}  // namespace berth::cli

// `berth eta`: when a job starts, by the scheduler in virtual time. Nothing is written.
#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/deadline.h"
#include "base/terminal_text.h"
#include "cli/forecast_commands.h"
#include "cli/forecast_source.h"
#include "forecast/eta_notes.h"
#include "forecast/eta_pasts.h"
#include "forecast/eta_scores.h"
#include "forecast/forecast_cluster.h"
#include "forecast/forecast_threads.h"
#include "simulation/deadline_chance.h"
#include "simulation/present_workloads.h"
#include "view/output.h"
#include "view/screens/eta_screen.h"
#include "view/session.h"

namespace berth::cli {
namespace {

forecast::ForecastQuestion QuestionOf(const EtaFlags& flags, const std::string& default_namespace) {
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
  EtaMaker(const EtaFlags& flags, const forecast::ForecastCluster& cluster,
           forecast::EtaScores* scores)
      : flags_(flags),
        question_(QuestionOf(flags, cluster.default_namespace)),
        cluster_(cluster),
        jobs_(forecast::ForecastJobsOf(cluster)),
        scores_(scores),
        corrections_(forecast::CalibrationOf(cluster.view).Now()) {}

  Result<view::EtaView> Make() {
    view::EtaView view;
    BERTH_TRY(const std::vector<std::size_t> asked, Asked(view));
    view.now = cluster_.view.now;
    view.notes = cluster_.notes;
    for (const std::string& each : view::NotSeen(cluster_.view)) view.notes.push_back(each);
    if (scores_ != nullptr) {
      view.hits = view::EtaHits{.starts = scores_->known(),
                                .within_p50 = scores_->within_p50(),
                                .within_p90 = scores_->within_p90(),
                                .corrects = scores_->corrects()};
    }
    view.controller = forecast::ControllerHits(cluster_.view);
    if (asked.empty()) return view;
    simulation::ForecastOptions options = forecast::ForecastOptionsOf(cluster_);
    options.draws = DrawsOf(flags_.forecast, jobs_.jobs.size());
    options.seed = flags_.forecast.seed;
    options.asked = asked;
    const simulation::Forecast forecast =
        forecast::MakeForecastInThreads(cluster_.cluster, jobs_.jobs, options);
    view.draws = options.draws;
    view.seed = options.seed;
    view.stopped_early = forecast.stopped_early;
    for (const simulation::ForecastJob& each : jobs_.jobs) ++view.basis[each.run->level];
    for (const std::size_t job : asked) AddRow(job, forecast.jobs[job], view);
    view::SortRows(view);
    return view;
  }

 private:
  // The waiting jobs that the flags name. Jobs that are in no queue become rows at once.
  Result<std::vector<std::size_t>> Asked(view::EtaView& view) const {
    std::vector<std::size_t> asked;
    std::string running;
    for (std::size_t i = 0; i < jobs_.jobs.size(); ++i) {
      const api::Workload& workload = *jobs_.jobs[i].job.object;
      if (!question_.Names(workload)) continue;
      if (simulation::IsRunning(workload)) {
        running = view::DisplayName(workload);
      } else {
        asked.push_back(i);
      }
    }
    for (const simulation::NotQueued& each : jobs_.not_queued) {
      if (!question_.Names(*each.workload)) continue;
      view.rows.push_back({.workload = each.workload,
                           .cluster_queue = view::ClusterQueueOf(cluster_.view, *each.workload),
                           .why = each.why});
    }
    if (flags_.all || !asked.empty() || !view.rows.empty()) return asked;
    if (!running.empty()) return Error{ErrorCode::kConflict, running + " runs already"};
    return Error{ErrorCode::kNotFound, "no job \"" + flags_.reference + "\" waits in namespace " +
                                           cluster_.default_namespace +
                                           " (berth eta --all shows those that do)"};
  }

  void AddRow(std::size_t job, const simulation::JobForecast& forecast, view::EtaView& view) const {
    const simulation::ForecastJob& asked = jobs_.jobs[job];
    view::EtaRow row{.workload = asked.job.object,
                     .cluster_queue = view::ClusterQueueOf(cluster_.view, *asked.job.object),
                     .p10 = forecast.At(kLow),
                     .p50 = forecast.At(kMedian),
                     .p90 = forecast.At(kHigh),
                     .why = forecast.why,
                     .run = asked.run,
                     .capacity = asked.capacity};
    row.deadline = api::DeadlineOf(row.workload->meta.annotations);
    row.in_time = simulation::ChanceInTime(forecast);
    row.chance =
        static_cast<double>(forecast.Started()) / static_cast<double>(forecast.starts.size());
    if (row.p90 && row.chance == 1) Correct(forecast, row, view);
    view.rows.push_back(std::move(row));
  }

  // Corrects the forecast of the row by what earlier ones missed: those of --scores, else those of
  // the controller. Those of --scores are kept.
  void Correct(const simulation::JobForecast& forecast, view::EtaRow& row,
               view::EtaView& view) const {
    const simulation::StartQuantiles raw{*row.p10, *row.p50, *row.p90};
    const simulation::ForecastGroup group = simulation::GroupAt(
        row.cluster_queue, cluster_.view.now - row.workload->meta.creation_timestamp);
    const bool by_scores = scores_ != nullptr && scores_->corrects();
    const simulation::Corrections& corrections = by_scores ? scores_->corrections() : corrections_;
    const simulation::Correction* correction = corrections.For(group, raw);
    const simulation::StartQuantiles told = correction == nullptr ? raw : correction->Of(raw);
    if (correction != nullptr) ++view.corrected;
    row.p10 = told.p10;
    row.p50 = told.p50;
    row.p90 = told.p90;
    row.in_time = simulation::ChanceInTime(forecast, raw, told);
    if (scores_ == nullptr) return;
    scores_->Add({.uid = row.workload->meta.uid,
                  .at = ledger::ToSeconds(cluster_.view.now),
                  .group = group,
                  .raw = raw,
                  .told_p50 = told.p50,
                  .told_p90 = told.p90});
  }

  const EtaFlags& flags_;
  const forecast::ForecastQuestion question_;
  const forecast::ForecastCluster& cluster_;
  const forecast::ForecastJobs jobs_;
  forecast::EtaScores* const scores_;
  const simulation::Corrections corrections_;  // by the starts that the controller foretold
};

Result<view::EtaView> DrawEta(const EtaFlags& flags, const forecast::ForecastCluster& cluster) {
  if (flags.scores.empty()) return EtaMaker(flags, cluster, nullptr).Make();
  BERTH_TRY(forecast::EtaScores scores, forecast::EtaScores::Read(flags.scores));
  scores.Resolve(cluster);
  auto view = EtaMaker(flags, cluster, &scores).Make();
  if (view) BERTH_CHECK_OK(scores.Write());
  return view;
}

Result<view::EtaView> DrawEtaOf(const EtaFlags& flags, view::ClusterView view,
                                const std::string& default_namespace) {
  BERTH_TRY(const forecast::ForecastCluster cluster,
            MakeForecastClusterOf(flags.forecast, std::move(view), default_namespace));
  return DrawEta(flags, cluster);
}

// From the forecasts on the Workloads of the API; where none is fresh, the rest is read, too.
Result<view::EtaView> EtaOfController(const EtaFlags& flags) {
  const ClientFlags& client = flags.forecast.client;
  const bool all = client.all_namespaces || (flags.all && client.namespace_name.empty());
  BERTH_TRY(const std::unique_ptr<view::Session> session, view::Session::Open(client));
  std::string default_namespace;
  BERTH_TRY(view::ClusterView noted,
            ReadNotedView(*session, flags.forecast, all, default_namespace));
  const auto view = std::make_shared<view::ClusterView>(std::move(noted));
  if (auto known = forecast::EtaFromNotes(view, QuestionOf(flags, default_namespace)))
    return *std::move(known);
  BERTH_TRY(view::ClusterView whole,
            ReadBesideNotes(*session, flags.forecast, all, default_namespace, std::move(*view)));
  return DrawEtaOf(flags, std::move(whole), default_namespace);
}

Result<view::EtaView> MakeEta(const EtaFlags& flags) {
  const bool asks_api = flags.forecast.from.empty() && flags.forecast.now.empty();
  if (!flags.draw && asks_api) return EtaOfController(flags);
  std::string default_namespace;
  BERTH_TRY(view::ClusterView read, ReadForecastView(flags.forecast, default_namespace));
  const auto view = std::make_shared<view::ClusterView>(std::move(read));
  if (!flags.draw) {
    if (auto known = forecast::EtaFromNotes(view, QuestionOf(flags, default_namespace)))
      return *std::move(known);
  }
  return DrawEtaOf(flags, std::move(*view), default_namespace);
}

}  // namespace

int RunEta(const EtaFlags& flags) {
  if (flags.all != flags.reference.empty()) {
    view::Complain({ErrorCode::kInvalid, "name a job, such as job/train, or --all"});
    return view::kExitUsage;
  }
  const auto view = MakeEta(flags);
  if (!view) return view::Complain(view.error());
  const ClientFlags& client = flags.forecast.client;
  if (client.output == view::OutputFormat::kJson) {
    view::Print(TerminalJson(view::EtaJsonText(*view)) + "\n");
  } else if (client.output == view::OutputFormat::kYaml) {
    view::PrintStructured(view::EtaJson(*view), client.output);
  } else if (flags.all || view->rows.size() != 1) {
    view::Print(view::RenderEta(*view, view::DetectStyle(client.ascii)));
  } else {
    view::Print(view::RenderEtaOf(*view, view->rows.front()));
  }
  return view::kExitAnswered;
}

}  // namespace berth::cli

#include "view/screens/tune_screen.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "view/screens/simulation_tables.h"

namespace berth::view {
namespace {

using simulation::Figures;
using simulation::PolicyTrial;

std::string Change(const char* what, double before, double after) {
  return fmt::format("{} {} → {}", what, SpanOf(before), SpanOf(after));
}

std::string ProposalText(const TuneView& view) {
  if (!view.proposed) {
    return "Nothing is proposed: no policy shortens the mean wait by 5 % without longer\n"
           "waits of 1 % of the jobs, more lost work or unfinished jobs.\n";
  }
  const PolicyTrial& proposed = view.trials[*view.proposed];
  const Figures& before = view.trials[0].figures;
  std::string text = "Proposed: " + proposed.name + " (" +
                     Change("mean wait", before.wait_mean, proposed.figures.wait_mean) + ", " +
                     Change("99 of 100", before.wait_p99, proposed.figures.wait_p99) +
                     "). Nothing was changed; on the ClusterQueues, or on their Cohort:\n\n"
                     "  annotations:\n";
  for (const auto& [key, value] : proposed.annotations) text += "    " + key + ": " + value + "\n";
  return text;
}

}  // namespace

std::string RenderTune(const TuneView& view, const TextStyle& style) {
  TextTable table({{"POLICY"},
                   {"WAIT MEAN", Align::kRight},
                   {"P50", Align::kRight},
                   {"P90", Align::kRight},
                   {"P99", Align::kRight},
                   {"SLOWDOWN", Align::kRight},
                   {"PREEMPTIONS", Align::kRight},
                   {HoursName(view.resource) + " LOST", Align::kRight},
                   {"UNFINISHED", Align::kRight}});
  for (const PolicyTrial& trial : view.trials) {
    const Figures& figures = trial.figures;
    table.AddRow({trial.name, SpanOf(figures.wait_mean), SpanOf(figures.wait_p50),
                  SpanOf(figures.wait_p90), SpanOf(figures.wait_p99),
                  fmt::format("{:.1f}", figures.slowdown),
                  fmt::format("{:.0f}", figures.preemptions),
                  fmt::format("{:.1f}", HoursOf(figures.destroyed, view.resource)),
                  fmt::format("{:.0f}", figures.unfinished)});
  }
  std::string text = fmt::format("{:.0f} jobs on {} policies\n\n", view.trials[0].figures.jobs,
                                 view.trials.size()) +
                     table.Render(style) + "\n" + ProposalText(view);
  for (const std::string& note : view.notes) text += note + "\n";
  return text;
}

nlohmann::json TuneJson(const TuneView& view) {
  nlohmann::json trials = nlohmann::json::array();
  for (const PolicyTrial& trial : view.trials) {
    nlohmann::json row = {{"name", trial.name}, {"annotations", trial.annotations}};
    for (const simulation::Measure& measure : simulation::Measures()) {
      row[measure.name] = trial.figures.*measure.value;
    }
    row["destroyedHours"] = HoursOf(trial.figures.destroyed, view.resource);
    trials.push_back(std::move(row));
  }
  return {{"trials", std::move(trials)},
          {"proposed", view.proposed ? nlohmann::json(view.trials[*view.proposed].name)
                                     : nlohmann::json(nullptr)},
          {"resource", view.resource},
          {"notes", view.notes}};
}

}  // namespace berth::view

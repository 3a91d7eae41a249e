#include "view/screens/eta_screen.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include <fmt/format.h>

#include "base/rfc3339.h"
#include "base/strings.h"
#include "view/screens/cluster_view.h"

namespace berth::view {
namespace {

using simulation::RunForecast;
using simulation::RunLevel;

std::string RangeText(const EtaRow& row) {
  if (!row.p10) return "-";
  return SpanText(row.p10) + " to " + SpanText(row.p90);
}

std::int64_t Percent(double share) { return std::llround(100 * share); }

std::string ReasonOf(const EtaRow& row) {
  if (row.why.empty()) return "";
  if (row.noted && row.p50) return "late, or never in some cases: " + row.why;
  if (row.chance <= 0) return row.why;
  return fmt::format("never in {} of 100 cases: {}", 100 - Percent(row.chance), row.why);
}

// "in 5h: 85 of 100".
std::string DeadlineCell(const EtaView& view, const EtaRow& row) {
  if (!row.deadline) return "-";
  if (*row.deadline <= view.now) return "missed";
  const std::string left = "in " + HumanDuration(*row.deadline - view.now);
  return row.in_time ? fmt::format("{}: {} of 100", left, Percent(*row.in_time)) : left;
}

std::string BasisOf(const EtaView& view) {
  if (view.noted > 0) {
    return fmt::format("based on: {} of the controller, up to {} old{} (--draw makes new ones)\n",
                       view.noted == 1 ? "a forecast" : std::to_string(view.noted) + " forecasts",
                       HumanDuration(std::max(view.now - *view.oldest_note, Duration(0))),
                       view.corrected > 0 ? ", corrected by earlier starts" : "");
  }
  std::int64_t jobs = 0;
  for (const auto& [level, count] : view.basis) jobs += count;
  if (jobs == 0) return "";
  std::vector<std::string> parts;
  for (const auto& [level, count] : view.basis) {
    parts.push_back(std::to_string(count) + " by " + ToString(level));
  }
  return fmt::format("based on: {} draws{}; run times of {} {}: {}\n", view.draws,
                     view.corrected > 0 ? ", corrected by earlier starts" : "", jobs,
                     jobs == 1 ? "job" : "jobs", Join(parts, ", "));
}

std::string HitsOf(const EtaView& view) {
  if (!view.hits) return "";
  if (view.hits->starts == 0) return "none of the jobs with a forecast has started yet\n";
  return fmt::format(
      "of the forecasts of {} started jobs, {} of 100 were within p50, {} of 100 within p90{}\n",
      view.hits->starts, Percent(view.hits->within_p50), Percent(view.hits->within_p90),
      view.hits->corrects ? "; new forecasts are corrected by these" : "");
}

std::string ControllerHitsOf(const EtaView& view) {
  if (view.controller.starts == 0) return "";
  return fmt::format(
      "of the controller's first forecasts for {} started {}, {} of 100 were within p50, {} of 100 "
      "within p90\n",
      view.controller.starts, view.controller.starts == 1 ? "job" : "jobs",
      Percent(view.controller.within_p50), Percent(view.controller.within_p90));
}

std::string NotesOf(const EtaView& view) {
  std::string text = HitsOf(view) + ControllerHitsOf(view);
  for (const std::string& note : view.notes) text += "left out: " + note + "\n";
  if (view.stopped_early > 0) {
    text += fmt::format("in {} of {} draws jobs preempt one another without end\n",
                        view.stopped_early, view.draws);
  }
  return text;
}

}  // namespace

std::string SpanText(const std::optional<Duration>& span) {
  if (!span) return "never";
  return WholeSeconds(*span) <= 0 ? "now"
                                  : HumanDuration(std::chrono::seconds(WholeSeconds(*span)));
}

std::int64_t WholeSeconds(Duration span) {
  return std::chrono::round<std::chrono::seconds>(span).count();
}

std::string BasisText(const RunForecast& run) {
  const std::string runs = std::to_string(run.runs) + (run.runs == 1 ? " run" : " runs");
  std::string text;
  switch (run.level) {
    case RunLevel::kBatch: text = runs + " of its batch"; break;
    case RunLevel::kKind: text = runs + " of its kind"; break;
    case RunLevel::kSubmitter: text = runs + " of its submitter"; break;
    case RunLevel::kRequests: text = runs + " of its requests"; break;
    case RunLevel::kDeclared: text = runs + " of a like maximum in its queue"; break;
    case RunLevel::kQueue: text = runs + " of its queue"; break;
    case RunLevel::kCluster: text = runs + " of the cluster"; break;
    case RunLevel::kPrior: text = "no known run"; break;
  }
  if (!run.declared) return text;
  return text + ", at most " + HumanDuration(std::chrono::seconds(*run.declared));
}

void SortRows(EtaView& view) {
  const auto key = [](const EtaRow& row) {
    const api::ObjectMeta& meta = row.workload->meta;
    return std::make_tuple(!row.p50, row.p50.value_or(Duration(0)), std::cref(meta.namespace_name),
                           std::cref(meta.name));
  };
  std::stable_sort(view.rows.begin(), view.rows.end(),
                   [&key](const EtaRow& a, const EtaRow& b) { return key(a) < key(b); });
}

std::string RenderEta(const EtaView& view, const TextStyle& style) {
  if (view.rows.empty()) return "no job waits\n" + NotesOf(view);
  const bool with_deadlines = std::any_of(view.rows.begin(), view.rows.end(),
                                          [](const EtaRow& row) { return bool(row.deadline); });
  std::vector<Column> columns{{"WAITING"},
                              {"QUEUE"},
                              {"PRIO", Align::kRight},
                              {"STARTS IN", Align::kRight},
                              {"P10 TO P90"}};
  if (with_deadlines) columns.push_back({"DEADLINE"});
  columns.push_back({"REASON"});
  TextTable table(std::move(columns));
  for (const EtaRow& row : view.rows) {
    std::vector<std::string> cells{DisplayName(*row.workload), row.workload->spec.queue_name,
                                   std::to_string(row.workload->spec.priority.value_or(0)),
                                   view.noted > 0 && !row.noted ? "-" : SpanText(row.p50),
                                   RangeText(row)};
    if (with_deadlines) cells.push_back(DeadlineCell(view, row));
    cells.push_back(ReasonOf(row));
    table.AddRow(std::move(cells));
  }
  return table.Render(style) + "\n" + BasisOf(view) + NotesOf(view);
}

std::string RenderEtaOf(const EtaView& view, const EtaRow& row) {
  const std::string name = DisplayName(*row.workload);
  std::string text;
  if (row.p50) {
    text = name + " starts in " + SpanText(row.p50) + ", at " +
           FormatTime(CutToSeconds(view.now + std::max(*row.p50, Duration(0)))) + "; in 8 of 10 " +
           "cases in " + RangeText(row) + ".\n";
    if (WholeSeconds(*row.p50) <= 0) text = name + " starts now.\n";
    if (!row.why.empty()) text += ReasonOf(row) + "\n";
  } else if (view.noted > 0) {
    text = name + " starts in fewer than half of the cases: " + row.why + "\n";
  } else {
    text = name + " never starts: " + row.why + "\n";
  }
  if (row.deadline && row.in_time) {
    text += fmt::format("it ends by its deadline, {}, in {} of 100 cases\n",
                        FormatTime(*row.deadline), Percent(*row.in_time));
  }
  if (row.capacity) {
    text += "of that, capacity: " + SpanText(row.capacity->p50) + " (" +
            SpanText(row.capacity->p10) + " to " + SpanText(row.capacity->p90) + ")\n";
  }
  if (row.run != nullptr) {
    text += "it runs for about " +
            HumanDuration(std::chrono::seconds(std::llround(row.run->At(0.5)))) + ": " +
            BasisText(*row.run) + "\n";
  }
  return text + BasisOf(view) + NotesOf(view);
}

}  // namespace berth::view

#include "view/screens/what_if_screen.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/rfc3339.h"
#include "base/strings.h"
#include "view/screens/cluster_view.h"
#include "view/screens/eta_screen.h"

namespace berth::view {
namespace {

using Json = nlohmann::json;
using simulation::JobChange;
using simulation::JobEffect;
using simulation::JobSide;

std::string StartText(const JobSide& side) {
  if (!side.p50) return "never";
  const std::int64_t start = WholeSeconds(*side.p50);
  return start <= 0 ? "now" : HumanDuration(std::chrono::seconds(start));
}

std::string ShiftText(const JobChange& change) {
  const std::int64_t shift = WholeSeconds(change.shift);
  if (shift == 0) return "-";
  const std::string text = HumanDuration(std::chrono::seconds(std::abs(shift)));
  return (shift < 0 ? "-" : "+") + text;
}

std::int64_t Cases(double share) { return std::llround(100 * share); }

std::string PlaceRemark(const JobChange& change) {
  const auto text = [](const std::optional<Duration>& place) {
    if (!place) return std::string("none");
    const std::int64_t from = std::max<std::int64_t>(WholeSeconds(*place), 0);
    return from == 0 ? "now" : "in " + HumanDuration(std::chrono::seconds(from));
  };
  const std::string before = text(change.before.place);
  const std::string after = text(change.after.place);
  return before == after ? "" : "its place is kept: " + after + ", " + before + " before";
}

std::string RemarkOf(const JobChange& change) {
  const JobSide& after = change.after;
  std::string text;
  if (after.preemptions != change.before.preemptions) {
    text = fmt::format("preempted {:.2f} times, {:.2f} before", after.preemptions,
                       change.before.preemptions);
  }
  if (after.chance != change.before.chance && change.effect != JobEffect::kNew) {
    text +=
        (text.empty() ? "" : "; ") + fmt::format("starts in {} of 100 cases, {} before",
                                                 Cases(after.chance), Cases(change.before.chance));
  }
  if (const std::string place = PlaceRemark(change); !place.empty()) {
    text += (text.empty() ? "" : "; ") + place;
  }
  if (after.why.empty() || after.chance >= change.before.chance) {
    if (change.effect != JobEffect::kNew || after.why.empty()) return text;
  }
  return text + (text.empty() ? "" : ": ") + after.why;
}

char MarkOf(const JobChange& change) {
  if (change.effect == JobEffect::kNew) return '*';
  return IsWorseOff(change) ? '-' : '+';
}

int RankOf(const JobChange& change) {
  if (change.effect == JobEffect::kNew) return 1;
  return IsWorseOff(change) ? 0 : 2;
}

// The jobs that the change touches, in the order of the screen.
std::vector<const JobChange*> Touched(const WhatIfView& view) {
  std::vector<const JobChange*> touched;
  for (const JobChange& change : view.jobs) {
    if (change.effect != JobEffect::kNone) touched.push_back(&change);
  }
  std::stable_sort(touched.begin(), touched.end(), [](const JobChange* a, const JobChange* b) {
    if (RankOf(*a) != RankOf(*b)) return RankOf(*a) < RankOf(*b);
    if (a->effect != b->effect) return a->effect < b->effect;
    if (a->shift != b->shift) return std::abs(a->shift.count()) > std::abs(b->shift.count());
    return a->workload->meta.key() < b->workload->meta.key();
  });
  return touched;
}

std::string SummaryOf(const std::vector<const JobChange*>& touched) {
  std::map<JobEffect, std::int64_t> counts;
  for (const JobChange* change : touched) ++counts[change->effect];
  std::vector<std::string> worse;
  std::vector<std::string> better;
  for (const auto& [effect, count] : counts) {
    if (effect == JobEffect::kNew) continue;
    JobChange one;
    one.effect = effect;
    (IsWorseOff(one) ? worse : better).push_back(std::to_string(count) + " " + ToString(effect));
  }
  return "worse off: " + (worse.empty() ? "nobody" : Join(worse, ", ")) +
         "; better off: " + (better.empty() ? "nobody" : Join(better, ", ")) + "\n";
}

Json SideJson(const JobSide& side) {
  return {{"startSeconds",
           side.p50 ? Json(std::max<std::int64_t>(WholeSeconds(*side.p50), 0)) : Json()},
          {"chance", side.chance},
          {"preemptions", side.preemptions},
          {"placeSeconds",
           side.place ? Json(std::max<std::int64_t>(WholeSeconds(*side.place), 0)) : Json()},
          {"reason", side.why.empty() ? Json() : Json(side.why)}};
}

}  // namespace

std::int64_t WorseOff(const WhatIfView& view) {
  return std::count_if(view.jobs.begin(), view.jobs.end(), simulation::IsWorseOff);
}

std::string RenderWhatIf(const WhatIfView& view, const TextStyle& style) {
  std::string text;
  for (const std::string& change : view.changes) text += "~ " + change + "\n";
  if (!text.empty()) text += "\n";
  const std::vector<const JobChange*> touched = Touched(view);
  if (touched.empty()) {
    text += "no difference: every job starts as before\n";
  } else {
    TextTable table({{""},
                     {"EFFECT"},
                     {"JOB"},
                     {"QUEUE"},
                     {"BEFORE", Align::kRight},
                     {"AFTER", Align::kRight},
                     {"SHIFT", Align::kRight},
                     {"REASON"}});
    for (const JobChange* change : touched) {
      const bool is_new = change->effect == JobEffect::kNew;
      const std::string before = is_new ? "-" : change->runs ? "runs" : StartText(change->before);
      const std::string after = change->runs ? "-" : StartText(change->after);
      table.AddRow({std::string(1, MarkOf(*change)), ToString(change->effect),
                    DisplayName(*change->workload), change->workload->spec.queue_name, before,
                    after, is_new ? "-" : ShiftText(*change), RemarkOf(*change)});
    }
    text += table.Render(style) + "\n" + SummaryOf(touched);
  }
  for (const std::string& note : view.notes) text += "left out: " + note + "\n";
  return text;
}

Json WhatIfJson(const WhatIfView& view) {
  Json jobs = Json::array();
  for (const JobChange* change : Touched(view)) {
    const api::Workload& workload = *change->workload;
    const api::OwnerReference* owner = api::ControllerOf(workload.meta);
    jobs.push_back(
        {{"namespace", workload.meta.namespace_name},
         {"workload", workload.meta.name},
         {"kind", OwnerKind(workload)},
         {"name", owner == nullptr ? workload.meta.name : owner->name},
         {"localQueue", workload.spec.queue_name},
         {"effect", ToString(change->effect)},
         {"worseOff", IsWorseOff(*change)},
         {"runs", change->runs},
         {"before", change->effect == JobEffect::kNew ? Json() : SideJson(change->before)},
         {"after", SideJson(change->after)},
         {"shiftSeconds", WholeSeconds(change->shift)}});
  }
  return {{"at", FormatTime(CutToSeconds(view.now))},
          {"draws", view.draws},
          {"seed", view.seed},
          {"changes", view.changes},
          {"worseOff", WorseOff(view)},
          {"jobs", std::move(jobs)},
          {"leftOut", view.notes}};
}

}  // namespace berth::view

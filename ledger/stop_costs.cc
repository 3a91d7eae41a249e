#include "ledger/stop_costs.h"

#include <algorithm>
#include <utility>

#include "base/median.h"

namespace berth::ledger {
namespace {

// Equal for jobs that are alike.
std::string KindOf(const AttemptRecord& attempt) {
  std::map<std::string, api::Amount> amounts;  // a flavor is a matter of the reservation
  for (const ResourceUse& use : attempt.resources) {
    amounts[use.resource] = api::AddAmounts(amounts[use.resource], use.amount);
  }
  std::string kind = attempt.namespace_name + "/" + attempt.local_queue + "\n" + attempt.image;
  for (const auto& [resource, amount] : amounts) {
    kind += "\n" + resource + "=" + std::to_string(amount);
  }
  return kind;
}

template <typename Runs>
Seconds MedianRun(const Runs& runs) {
  std::vector<Seconds> lengths;
  for (const auto& run : runs) lengths.push_back(run.ran);
  return MedianOf(std::move(lengths));
}

}  // namespace

void StopMeasure::Add(const AttemptRecord& attempt, const std::string& line) {
  if (!attempt.ended || !attempt.checkpoint) return;
  const Seconds ran =
      attempt.admitted ? std::max<Seconds>(*attempt.ended - *attempt.admitted, 0) : 0;
  Course& known = courses_[attempt.uid];
  ++known.attempts;
  known.before = known.ran;
  known.ran += ran;
  if (attempt.outcome == kPreempted || attempt.outcome == kEvicted) {
    if (!attempt.admitted) return;
    ++known.stops;
    known.claimed += std::min(ran, *attempt.checkpoint);
    return;
  }
  const Course course = known;
  courses_.erase(attempt.uid);
  // Attempts before the period are unknown.
  if (attempt.outcome != kSucceeded || course.attempts != attempt.attempt) return;
  if (course.stops > 0) {
    restarted_.push_back({line, KindOf(attempt), course});
    return;
  }
  std::deque<Run>& runs = whole_runs_[KindOf(attempt)];
  runs.push_back({*attempt.ended, ran});
  if (runs.size() <= kMostRuns) return;
  runs.erase(std::min_element(runs.begin(), runs.end()));
}

std::map<std::string, StopCosts> StopMeasure::Costs() const {
  std::map<std::string, StopCosts> costs;
  for (const auto& [line, kind, course] : restarted_) {
    StopCosts& sum = costs[line];
    const auto alike = whole_runs_.find(kind);
    if (alike == whole_runs_.end() || alike->second.size() < kFewestRuns) {
      sum.unmeasured += course.stops;
      continue;
    }
    sum.stops += course.stops;
    sum.claimed += course.claimed;
    sum.lost += std::clamp<Seconds>(course.ran - MedianRun(alike->second), 0, course.before);
  }
  return costs;
}

}  // namespace berth::ledger

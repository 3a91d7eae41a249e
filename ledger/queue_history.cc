#include "ledger/queue_history.h"

#include <algorithm>
#include <cmath>

namespace berth::ledger {
namespace {

bool IsIn(const std::optional<Seconds>& time, const HistoryPart& part) {
  return time && *time >= part.from && *time < part.to;
}

// Of sorted values, at least one.
Seconds NearestRank(const std::vector<Seconds>& values, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

// The time that the attempt held its quota within the part.
Seconds HeldIn(const AttemptRecord& attempt, const HistoryPart& part) {
  if (!attempt.admitted) return 0;
  const Seconds end = std::min(attempt.ended.value_or(part.to), part.to);
  return std::max<Seconds>(end - std::max(*attempt.admitted, part.from), 0);
}

void Fill(const std::vector<AttemptRecord>& attempts, HistoryPart& part) {
  std::vector<Seconds> waits;
  std::map<std::string, double> held;
  for (const AttemptRecord& attempt : attempts) {
    if (IsIn(attempt.admitted, part)) waits.push_back(*attempt.admitted - attempt.queued);
    if (attempt.outcome == kPreempted && IsIn(attempt.ended, part)) ++part.preempted;
    const auto time = static_cast<double>(HeldIn(attempt, part));
    if (time == 0) continue;
    for (const ResourceUse& use : attempt.resources) {
      held[use.resource] += static_cast<double>(use.amount) * time;
    }
  }
  const auto length = static_cast<double>(part.to - part.from);
  for (const auto& [resource, amount] : held) {
    part.used[resource] = static_cast<api::Amount>(std::llround(amount / length));
  }
  part.admitted = static_cast<std::int64_t>(waits.size());
  if (waits.empty()) return;
  std::sort(waits.begin(), waits.end());
  part.p50 = NearestRank(waits, 0.5);
  part.p90 = NearestRank(waits, 0.9);
}

}  // namespace

std::vector<HistoryPart> MakeQueueHistory(const std::vector<AttemptRecord>& attempts,
                                          const Period& period, std::int64_t parts) {
  std::vector<HistoryPart> made;
  const Seconds length = period.to - period.from;
  for (std::int64_t i = 0; i < parts; ++i) {
    HistoryPart part{.from = period.from + length * i / parts,
                     .to = period.from + length * (i + 1) / parts};
    if (part.from == part.to) continue;
    Fill(attempts, part);
    made.push_back(std::move(part));
  }
  return made;
}

}  // namespace berth::ledger

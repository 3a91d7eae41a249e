#include "ledger/queue_history.h"

#include <algorithm>
#include <cmath>

namespace berth::ledger {
namespace {

bool IsIn(const std::optional<Seconds>& time, const HistoryPart& part) {
  return time && *time >= part.from && *time < part.to;
}

// The time that the attempt held its quota within the part.
Seconds HeldIn(const AttemptRecord& attempt, const HistoryPart& part) {
  if (!attempt.admitted) return 0;
  const Seconds end = std::min(attempt.ended.value_or(part.to), part.to);
  return std::max<Seconds>(end - std::max(*attempt.admitted, part.from), 0);
}

}  // namespace

std::optional<Seconds> NearestRank(std::vector<Seconds> values, double share) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

StreamedHistory::StreamedHistory(const Period& period, std::int64_t parts) {
  for (const Period& part : Divided(period, parts)) {
    parts_.push_back({.from = part.from, .to = part.to});
  }
  waits_.resize(parts_.size());
  held_.resize(parts_.size());
}

void StreamedHistory::Add(const AttemptRecord& attempt) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    HistoryPart& part = parts_[i];
    if (IsIn(attempt.admitted, part)) {
      ++part.admitted;
      waits_[i].push_back(*attempt.admitted - attempt.queued);
    }
    if (attempt.outcome == kPreempted && IsIn(attempt.ended, part)) ++part.preempted;
    const auto time = static_cast<double>(HeldIn(attempt, part));
    if (time == 0) continue;
    for (const ResourceUse& use : attempt.resources) {
      held_[i][use.resource] += static_cast<double>(use.amount) * time;
    }
  }
}

std::vector<HistoryPart> StreamedHistory::Parts() const {
  std::vector<HistoryPart> parts = parts_;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto length = static_cast<double>(parts[i].to - parts[i].from);
    for (const auto& [resource, amount] : held_[i]) {
      parts[i].used[resource] = static_cast<api::Amount>(std::llround(amount / length));
    }
    parts[i].p50 = NearestRank(waits_[i], 0.5);
    parts[i].p90 = NearestRank(waits_[i], 0.9);
  }
  return parts;
}

std::vector<HistoryPart> MakeQueueHistory(const std::vector<AttemptRecord>& attempts,
                                          const Period& period, std::int64_t parts) {
  StreamedHistory history(period, parts);
  for (const AttemptRecord& attempt : attempts) history.Add(attempt);
  return history.Parts();
}

}  // namespace berth::ledger

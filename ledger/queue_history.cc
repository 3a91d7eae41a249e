#include "ledger/queue_history.h"

#include <algorithm>
#include <cmath>

#include "base/nearest_rank.h"

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
    parts[i].p50 = QuantileOf(waits_[i], 0.5);
    parts[i].p90 = QuantileOf(waits_[i], 0.9);
  }
  return parts;
}

std::vector<std::map<std::string, api::Amount>> QuotaSums(const std::vector<QuotaRecord>& quotas,
                                                          const std::vector<Period>& times) {
  std::vector<std::map<std::string, api::Amount>> sums(times.size());
  for (std::size_t i = 0; i < quotas.size(); ++i) {
    const QuotaRecord& quota = quotas[i];
    // The record holds until the next one of its queue and resource.
    const bool is_replaced = i + 1 < quotas.size() &&
                             quotas[i + 1].cluster_queue == quota.cluster_queue &&
                             quotas[i + 1].resource == quota.resource;
    for (std::size_t part = 0; part < times.size() && quota.nominal > 0; ++part) {
      if (times[part].to < quota.since) continue;
      if (is_replaced && times[part].to >= quotas[i + 1].since) break;
      api::Amount& sum = sums[part][quota.resource];
      sum = api::AddAmounts(sum, quota.nominal);
    }
  }
  return sums;
}

void AddQuotas(const std::vector<QuotaRecord>& quotas, std::vector<HistoryPart>& parts) {
  std::vector<Period> times;
  for (const HistoryPart& part : parts) times.push_back({part.from, part.to});
  const auto sums = QuotaSums(quotas, times);
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].quota = sums[i];
}

std::vector<HistoryPart> MakeQueueHistory(const std::vector<AttemptRecord>& attempts,
                                          const Period& period, std::int64_t parts) {
  StreamedHistory history(period, parts);
  for (const AttemptRecord& attempt : attempts) history.Add(attempt);
  return history.Parts();
}

}  // namespace berth::ledger

#include "ledger/state_history.h"

#include <algorithm>
#include <cmath>

namespace berth::ledger {

StreamedStates::StreamedStates(const Period& period, std::int64_t parts)
    : times_(Divided(period, parts)), reserved_(Nothing()), running_(Nothing()) {}

StreamedStates::Presence StreamedStates::Nothing() const {
  return {std::vector<double>(times_.size()), std::vector<double>(times_.size() + 1)};
}

std::size_t StreamedStates::PartAt(Seconds moment) const {
  const auto after = std::upper_bound(times_.begin(), times_.end(), moment,
                                      [](Seconds at, const Period& part) { return at < part.to; });
  return static_cast<std::size_t>(after - times_.begin());
}

void StreamedStates::AddSpan(Presence& presence, Seconds from, Seconds to, double number) const {
  from = std::max(from, times_.front().from);
  to = std::min(to, times_.back().to);
  if (from >= to) return;
  const std::size_t first = PartAt(from);
  const std::size_t last = PartAt(to - 1);
  if (first == last) {
    presence.seconds[first] += number * static_cast<double>(to - from);
    return;
  }
  presence.seconds[first] += number * static_cast<double>(times_[first].to - from);
  presence.seconds[last] += number * static_cast<double>(to - times_[last].from);
  presence.changes[first + 1] += number;
  presence.changes[last] -= number;
}

void StreamedStates::Add(const AttemptRecord& attempt) {
  if (times_.empty()) return;
  const Seconds end = attempt.ended.value_or(times_.back().to);
  const Seconds reserved = attempt.reserved.value_or(end);
  const Seconds admitted = attempt.admitted.value_or(end);
  const auto wait = [&](const std::string& cause, Seconds from, Seconds to) {
    if (from >= to || to <= times_.front().from) return;
    AddSpan(waiting_.try_emplace(cause, Nothing()).first->second, from, to);
  };
  Seconds from = attempt.queued;
  std::string cause;
  for (const Wait& each : attempt.waits) {
    const Seconds since = std::clamp(each.since, from, std::max(from, reserved));
    wait(cause, from, since);
    from = since;
    cause = each.cause;
  }
  wait(cause, from, reserved);
  AddSpan(reserved_, reserved, admitted);
  AddSpan(running_, admitted, end);
  if (admitted >= end || end <= times_.front().from) return;
  for (const ResourceUse& use : attempt.resources) {
    Presence& used = used_.try_emplace(use.resource, Nothing()).first->second;
    AddSpan(used, admitted, end, static_cast<double>(use.amount));
  }
}

std::vector<double> StreamedStates::MeansOf(const Presence& presence) const {
  std::vector<double> means;
  double whole = 0;
  for (std::size_t i = 0; i < times_.size(); ++i) {
    whole += presence.changes[i];
    const auto length = static_cast<double>(times_[i].to - times_[i].from);
    means.push_back(whole + presence.seconds[i] / length);
  }
  return means;
}

std::vector<StatePart> StreamedStates::Parts() const {
  std::vector<StatePart> parts(times_.size());
  const auto reserved = MeansOf(reserved_);
  const auto running = MeansOf(running_);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].reserved = reserved[i];
    parts[i].running = running[i];
  }
  for (const auto& [cause, presence] : waiting_) {
    const auto means = MeansOf(presence);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (means[i] > 0) parts[i].waiting[cause] = means[i];
    }
  }
  for (const auto& [resource, presence] : used_) {
    const auto means = MeansOf(presence);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto mean = static_cast<api::Amount>(std::llround(means[i]));
      if (mean > 0) parts[i].used[resource] = mean;
    }
  }
  return parts;
}

}  // namespace berth::ledger

#include "queue/pending_counts.h"

#include "base/assert.h"

namespace berth::queue {

void PendingCounts::SwitchOn(ValuesOf values_of) {
  BERTH_ASSERT(counters_.empty());
  on_ = true;
  values_of_ = std::move(values_of);
}

CounterId PendingCounts::Join(CounterId before, const api::ObjectKey& local_queue,
                              const api::Workload& object) {
  if (!on_) return kNoCounter;
  Values values = values_of_ ? values_of_(object) : Values();
  if (before != kNoCounter) {
    const Key& known = at(before).key;
    if (known.first == local_queue && known.second == values) return before;
  }
  const auto [found, added] = numbers_.try_emplace({local_queue, std::move(values)}, kNoCounter);
  if (added) {
    if (free_.empty()) {
      free_.push_back(static_cast<CounterId>(counters_.size()));
      counters_.emplace_back();
    }
    found->second = free_.back();
    free_.pop_back();
    Counter& made = at(found->second);
    made = Counter{.key = found->first, .changed = made.changed, .used = true};
  }
  ++at(found->second).members;
  return found->second;
}

void PendingCounts::Leave(CounterId counter) {
  if (counter == kNoCounter) return;
  --at(counter).members;
  DropIfUnused(counter);
}

void PendingCounts::AddQueued(CounterId counter, std::int64_t more) {
  if (counter == kNoCounter || more == 0) return;
  at(counter).queued += more;
  Note(counter);
}

void PendingCounts::AddActive(CounterId counter, std::int64_t more) {
  if (counter == kNoCounter || more == 0) return;
  at(counter).active += more;
  Note(counter);
}

void PendingCounts::Note(CounterId counter) {
  if (std::exchange(at(counter).changed, true)) return;
  changed_.push_back(counter);
}

void PendingCounts::DropIfUnused(CounterId counter) {
  Counter& unused = at(counter);
  if (unused.members > 0 || (unused.changed && unused.shown)) return;
  numbers_.erase(unused.key);
  unused = Counter{.changed = unused.changed};
  free_.push_back(counter);
}

std::vector<PendingCounts::Count> PendingCounts::TakeChanged() {
  std::vector<Count> counts;
  counts.reserve(changed_.size());
  for (const CounterId counter : std::exchange(changed_, {})) {
    Counter& changed = at(counter);
    changed.changed = false;
    if (!changed.used) continue;
    changed.shown = changed.queued > 0;
    counts.push_back(
        {changed.key.first, changed.key.second, changed.active, changed.queued - changed.active});
    DropIfUnused(counter);
  }
  return counts;
}

}  // namespace berth::queue

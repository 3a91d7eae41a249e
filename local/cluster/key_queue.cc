#include "local/cluster/key_queue.h"

#include <algorithm>

#include "base/log/log.h"

namespace berth::local::cluster {
namespace {

constexpr Duration kFirstBackoff = std::chrono::milliseconds(10);
constexpr Duration kLongestBackoff = std::chrono::seconds(30);
constexpr Duration kLongestRest = std::chrono::seconds(1);
constexpr Duration kShortRest = std::chrono::milliseconds(2);  // not worth remembering
// Wall clocks can jump; a look that comes too early only looks again.
constexpr Duration kLongestSleep = std::chrono::minutes(5);

}  // namespace

KeyQueue::KeyQueue(std::string name, Executor& executor, const Clock& clock, Look look)
    : name_(std::move(name)), executor_(executor), clock_(clock), look_(std::move(look)) {}

void KeyQueue::AddAfter(const ObjectKey& key, Duration delay) {
  Entry& entry = entries_[key];
  delay = std::clamp(delay, entry.rest, kLongestSleep);
  const WallTime due = clock_.Now() + delay;
  if (entry.due && *entry.due <= due) return;
  entry.due = due;
  entry.ticket = next_ticket_++;
  executor_.PostAfter(delay,
                      [this, key, ticket = entry.ticket, alive = std::weak_ptr<bool>(alive_)] {
                        if (!alive.expired()) Run(key, ticket);
                      });
}

void KeyQueue::Run(const ObjectKey& key, std::uint64_t ticket) {
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.ticket != ticket) return;
  found->second.due.reset();
  const SteadyTime begin = clock_.SteadyNow();
  const Result<NextLook> looked = look_(key);
  Entry& entry = entries_[key];
  entry.rest = std::min(clock_.SteadyNow() - begin, kLongestRest);
  if (!looked) {
    const int doublings = std::min(entry.failures++, 12);
    // A conflict is the usual race with another writer: the cache will know better in a moment.
    const bool is_race = looked.error().code == ErrorCode::kConflict;
    Log(is_race ? LogLevel::kDebug : LogLevel::kWarning, "will look again",
        {{"controller", name_}, {"object", ToString(key)}, {"error", looked.error().message}});
    return AddAfter(key, std::min(kFirstBackoff * (1 << doublings), kLongestBackoff));
  }
  entry.failures = 0;
  if (looked->at) {
    AddAfter(key, *looked->at - clock_.Now());
  } else if (!entry.due && entry.rest < kShortRest) {
    entries_.erase(key);
  }
}

}  // namespace berth::local::cluster

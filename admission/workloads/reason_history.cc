#include "admission/workloads/reason_history.h"

#include <algorithm>
#include <string_view>

namespace berth::admission {
namespace {

constexpr std::uint64_t kSeed = 0xCBF29CE484222325U;

void Mix(std::uint64_t& hash, std::int64_t number) {
  hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15U;
  hash ^= hash >> 32U;
}

void Mix(std::uint64_t& hash, std::string_view text) {
  for (const char c : text) Mix(hash, static_cast<unsigned char>(c));
  Mix(hash, -2);
}

// `number` may be one without a name.
void Mix(std::uint64_t& hash, const queue::Names& names, std::int32_t number) {
  if (number < 0) return Mix(hash, number);
  Mix(hash, names[number]);
}

std::uint64_t IdentityOf(const StatedReason& stated) {
  std::uint64_t hash = kSeed;
  Mix(hash, static_cast<std::int64_t>(stated.cause()));
  Mix(hash, stated.reason());
  return hash;
}

}  // namespace

std::uint64_t CauseOf(const Decision& decision, const Vocabulary& vocabulary) {
  std::uint64_t hash = kSeed;
  Mix(hash, static_cast<std::int64_t>(decision.outcome));
  Mix(hash, static_cast<std::int64_t>(decision.remark));
  for (const PodSetDecision& pod_set : decision.assignment.pod_sets) {
    for (const Obstacle& obstacle : pod_set.obstacles) {
      if (!obstacle.in_message) continue;
      Mix(hash, static_cast<std::int64_t>(obstacle.kind));
      Mix(hash, vocabulary.resources, obstacle.resource);
      Mix(hash, vocabulary.flavors, obstacle.flavor);
    }
    Mix(hash, -1);
  }
  return hash;
}

void ReasonHistory::Note(std::shared_ptr<const StatedReason> stated, WallTime now) {
  const std::uint64_t identity = IdentityOf(*stated);
  const auto found =
      std::find_if(reasons_.begin(), reasons_.end(),
                   [identity](const PastReason& past) { return past.identity == identity; });
  if (found != reasons_.end()) {
    if (found + 1 != reasons_.end()) std::rotate(found, found + 1, reasons_.end());
    PastReason& latest = reasons_.back();
    latest.stated = std::move(stated);
    latest.last = now;
    ++latest.count;
    return;
  }
  if (reasons_.size() == kCapacity) reasons_.erase(reasons_.begin());
  reasons_.push_back({std::move(stated), now, now, 1, identity});
}

void ReasonHistory::Restore(PastReason past) {
  if (reasons_.size() == kCapacity) return;
  past.identity = IdentityOf(*past.stated);
  const auto place = std::find_if(reasons_.begin(), reasons_.end(),
                                  [&](const PastReason& known) { return known.last > past.last; });
  reasons_.insert(place, std::move(past));
}

}  // namespace berth::admission

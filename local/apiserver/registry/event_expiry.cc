#include "local/apiserver/registry/event_expiry.h"

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/rfc3339.h"
#include "local/apiserver/registry/json_access.h"

namespace berth::local {

void ExpireEvents(Store& store, WallTime now) {
  constexpr std::chrono::hours kLifetime{1};
  constexpr std::size_t kMaxAtOnce = 500;
  const WallTime oldest = now - kLifetime;
  std::vector<Write> writes;
  for (const StoredPtr& stored : store.cache().List("events", "").objects) {
    const Object event = stored->json();
    if (event == nullptr || writes.size() == kMaxAtOnce) continue;
    std::string seen = TextAt(*event, {"series", "lastObservedTime"});
    if (seen.empty()) seen = TextAt(*event, {"lastTimestamp"});
    if (seen.empty()) seen = TextAt(*event, {"metadata", "creationTimestamp"});
    const auto time = ParseTime(seen);
    if (time && *time < oldest) {
      writes.push_back({Write::Kind::kDelete, stored->key(), *event, stored->revision()});
    }
  }
  if (writes.empty()) return;
  // A client may be writing one of them: the next round retries.
  for (Write& write : writes) {
    if (auto done = store.Commit({std::move(write)}); !done) continue;
  }
}

}  // namespace berth::local

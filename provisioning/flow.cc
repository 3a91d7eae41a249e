#include "provisioning/flow.h"

#include <algorithm>
#include <utility>

namespace berth::provisioning {

FlowPlace FlowPlaceOf(const api::Workload& workload) {
  return {.precedence = -std::int64_t{workload.spec.priority.value_or(0)},
          .queued = workload.meta.creation_timestamp,
          .uid = workload.meta.uid};
}

bool Flow::MayAsk(const FlowWait& wait, const FlowPlace& place) const {
  if (wait.limit <= 0) return true;
  const auto lane = lanes_.find(wait.lane);
  if (lane == lanes_.end()) return true;
  std::int32_t room = wait.limit - lane->second.open;
  for (const auto& [other, waiting] : lane->second.waiting) {
    if (room <= 0 || !(other < place)) break;
    --room;
  }
  return room > 0;
}

void Flow::SetOpen(const std::string& uid, OpenRequests open) {
  const auto known = open_.find(uid);
  if (known == open_.end() ? open.empty() : known->second == open) return;
  if (known != open_.end()) {
    for (const auto& [lane, count] : known->second) {
      lanes_[lane].open -= count;
      changed_.insert(lane);
    }
    open_.erase(known);
  }
  for (const auto& [lane, count] : open) {
    lanes_[lane].open += count;
    changed_.insert(lane);
  }
  if (!open.empty()) open_[uid] = std::move(open);
}

void Flow::SetWait(const FlowPlace& place, const api::ObjectKey& key,
                   std::optional<FlowWait> wait) {
  const auto known = waiting_.find(place.uid);
  if (!wait) return known == waiting_.end() ? void() : Leave(place.uid);
  if (known != waiting_.end() && known->second == std::pair(wait->lane, place)) {
    lanes_[wait->lane].waiting[place].limit = wait->limit;
    return;
  }
  Leave(place.uid);
  lanes_[wait->lane].waiting[place] = {key, wait->limit};
  waiting_[place.uid] = {wait->lane, place};
}

void Flow::Leave(const std::string& uid) {
  const auto known = waiting_.find(uid);
  if (known == waiting_.end()) return;
  lanes_[known->second.first].waiting.erase(known->second.second);
  changed_.insert(known->second.first);
  waiting_.erase(known);
}

void Flow::Drop(const std::string& uid) {
  Leave(uid);
  SetOpen(uid, {});
}

std::vector<api::ObjectKey> Flow::TakeReady() {
  std::vector<api::ObjectKey> ready;
  for (const Lane& name : std::exchange(changed_, {})) {
    const auto lane = lanes_.find(name);
    if (lane == lanes_.end()) continue;
    std::int32_t before = 0;
    for (const auto& [place, waiting] : lane->second.waiting) {
      if (waiting.limit - lane->second.open - before <= 0) break;
      ready.push_back(waiting.key);
      ++before;
    }
    if (lane->second.open == 0 && lane->second.waiting.empty()) lanes_.erase(lane);
  }
  return ready;
}

}  // namespace berth::provisioning

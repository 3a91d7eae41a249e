#include "program/queue_turns.h"

#include <algorithm>
#include <utility>

#include "view/screens/items.h"
#include "view/screens/own_order.h"

namespace berth::program {

void QueueTurns::Set(const std::shared_ptr<const api::ClusterQueue>& queue) {
  queues_[queue->meta.name] = queue;
  policies_.Set(*queue);
  LookAt({queue->meta.name});
}

void QueueTurns::RemoveClusterQueue(const std::string& name) {
  queues_.erase(name);
  policies_.RemoveClusterQueue(name);
  LookAt({name});
}

void QueueTurns::LookAt(const std::vector<std::string>& queues) {
  for (const std::string& name : queues) {
    const auto queue = queues_.find(name);
    if (queue != queues_.end() && view::HasOwnOrder(*queue->second, policies_.Of(name))) {
      ordered_.try_emplace(name);
    } else if (ordered_.erase(name) > 0) {
      gone_.insert(name);
    }
  }
}

QueueTurns::Turns QueueTurns::TurnsOf(admission::ClusterQueueId queue) const {
  admission::PendingSnapshot snapshot(scheduler_, queue);
  snapshot.Sort();
  Turns turns;
  std::optional<std::int64_t> last;
  for (const admission::PendingSnapshot::Waiting& next : snapshot.waiting()) {
    std::int64_t turn = view::TurnNumber(next.rank.key.priority, next.rank.key.place);
    if (last) turn = std::max(turn, *last + 1);
    last = turn;
    turns[next.object->meta.key()] = turn;
  }
  return turns;
}

std::map<std::string, QueueTurns::Turns> QueueTurns::Changed() {
  std::map<std::string, Turns> changed;
  const SteadyTime now = clock_.SteadyNow();
  are_late_ = false;
  for (const std::string& name : std::exchange(gone_, {})) changed[name] = {};
  for (auto& [name, known] : ordered_) {
    const auto queue = scheduler_.state().cluster_queues().Find(name);
    if (!queue) continue;
    const auto version = admission::PendingSnapshot::VersionOf(scheduler_, *queue);
    if (known.version == version) continue;
    if (known.version && now - known.made_at < kEvery) {
      are_late_ = true;
      continue;
    }
    known.version = version;
    known.made_at = now;
    changed[name] = TurnsOf(*queue);
  }
  return changed;
}

}  // namespace berth::program

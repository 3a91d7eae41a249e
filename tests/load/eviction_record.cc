#include "tests/load/eviction_record.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace berth::sim {
namespace {

double SecondsOf(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

void EvictionRecord::Created(const std::string& uid, std::int64_t priority, SteadyTime now) {
  workloads_[uid] = {.priority = priority, .created = now};
}

void EvictionRecord::Reserved(const std::string& uid, const std::string& room, std::int64_t amount,
                              SteadyTime now) {
  const auto found = workloads_.find(uid);
  if (found == workloads_.end()) return;
  Workload& workload = found->second;
  workload.reserved = now;
  workload.started = false;
  workload.room = room;
  workload.amount = amount;
  std::erase_if(open_, [&](std::size_t index) {
    Eviction& eviction = evictions_[index];
    if (eviction.preemptor == uid) {
      eviction.waited = now - eviction.at;
      return true;
    }
    if (eviction.room == room && workload.priority < eviction.preemptor_priority) {
      eviction.lower_came_first = true;
    }
    return false;
  });
}

void EvictionRecord::Started(const std::string& uid) {
  if (const auto found = workloads_.find(uid); found != workloads_.end()) {
    found->second.started = true;
  }
}

void EvictionRecord::Ended(const std::string& uid) {
  const auto found = workloads_.find(uid);
  if (found == workloads_.end() || !found->second.reserved) return;
  for (const std::size_t index : open_) {
    Eviction& eviction = evictions_[index];
    if (eviction.room == found->second.room) eviction.ended += found->second.amount;
  }
  found->second.reserved.reset();
}

void EvictionRecord::Evicted(const std::string& uid, const std::string& cause,
                             const std::string& preemptor, SteadyTime now) {
  const auto found = workloads_.find(uid);
  if (found == workloads_.end() || !found->second.reserved) return;
  Workload& victim = found->second;
  Eviction eviction{.cause = cause,
                    .preemptor = preemptor,
                    .room = victim.room,
                    .amount = victim.amount,
                    .at = now,
                    .held = now - *victim.reserved,
                    .started = victim.started};
  if (const auto by = workloads_.find(preemptor); by != workloads_.end()) {
    eviction.preemptor_priority = by->second.priority;
    eviction.preemptor_came_first = by->second.created <= *victim.reserved;
  }
  victim.reserved.reset();
  open_.push_back(evictions_.size());
  evictions_.push_back(std::move(eviction));
}

nlohmann::json EvictionRecord::Table() const {
  struct Sum {
    int evictions = 0, started = 0;
    Duration held{}, longest{}, waited{};
    int preemptor = 0, lower_first = 0;
    int came_first = 0, anyway = 0;
  };
  std::map<std::string, Sum> sums;
  for (const Eviction& each : evictions_) {
    Sum& sum = sums[each.cause];
    ++sum.evictions;
    sum.started += each.started ? 1 : 0;
    sum.held += each.held;
    sum.longest = std::max(sum.longest, each.held);
    sum.preemptor += each.waited ? 1 : 0;
    sum.waited += each.waited.value_or(Duration::zero());
    sum.lower_first += each.lower_came_first ? 1 : 0;
    sum.came_first += each.preemptor_came_first ? 1 : 0;
    sum.anyway += each.ended >= each.amount ? 1 : 0;
  }
  nlohmann::json table = nlohmann::json::object();
  for (const auto& [cause, sum] : sums) {
    table[cause] = {
        {"evictions", sum.evictions},
        {"had_started", sum.started},
        {"held_s",
         {{"mean", SecondsOf(sum.held) / sum.evictions}, {"max", SecondsOf(sum.longest)}}},
        {"room",
         {{"preemptor_got_it", sum.preemptor},
          {"after_s", sum.preemptor == 0 ? 0 : SecondsOf(sum.waited) / sum.preemptor},
          {"lower_priority_got_quota_first", sum.lower_first},
          {"nobody_yet", sum.evictions - sum.preemptor}}},
        {"avoidable",
         {{"preemptor_came_first", sum.came_first}, {"room_came_anyway", sum.anyway}}}};
  }
  return table;
}

}  // namespace berth::sim

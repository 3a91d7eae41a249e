// tests/load/eviction_record.h — the evictions of a load by cause: how long the victims
// had held quota, whether they had started, who got their room, and which evictions a later
// decision would have made needless.
//
//     Created, Reserved, Started, Ended, Evicted, in the order of time ─▶ Table
//
// An eviction is avoidable in two ways:
//   preemptor_came_first  the preemptor existed when the victim got its quota: an admission of the
//                         victim after the preemptor's needs no eviction
//   room_came_anyway      while the preemptor waited for the room, workloads of the cohort that
//                         ended by themselves gave back as much as the victim had
//
// Threads: none. Errors: events of unknown workloads are ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/clock.h"

namespace berth::sim {

class EvictionRecord {
 public:
  void Created(const std::string& uid, std::int64_t priority, SteadyTime now);
  // `room`: where quota is shared, the cohort; `amount` of the resource that is short.
  void Reserved(const std::string& uid, const std::string& room, std::int64_t amount,
                SteadyTime now);
  void Started(const std::string& uid);
  void Ended(const std::string& uid);
  void Evicted(const std::string& uid, const std::string& cause, const std::string& preemptor,
               SteadyTime now);

  // Returns the evictions by cause, with the sums of all.
  nlohmann::json Table() const;

 private:
  struct Workload {
    std::int64_t priority = 0;
    SteadyTime created{};
    std::optional<SteadyTime> reserved;  // since when it holds quota
    bool started = false;
    std::string room;
    std::int64_t amount = 0;
  };
  struct Eviction {
    std::string cause;
    std::string preemptor;
    std::int64_t preemptor_priority = 0;
    std::string room;
    std::int64_t amount = 0;
    SteadyTime at{};
    Duration held{};
    bool started = false;
    bool preemptor_came_first = false;
    // Until the preemptor has quota:
    bool lower_came_first = false;  // a workload of lower priority got quota before it
    std::int64_t ended = 0;         // given back by workloads that ended
    std::optional<Duration> waited;
  };

  std::map<std::string, Workload> workloads_;
  std::vector<Eviction> evictions_;
  std::vector<std::size_t> open_;  // evictions whose preemptor waits
};

}  // namespace berth::sim

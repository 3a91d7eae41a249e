// admission/cycle/second_passes.h — when the second pass of each workload that has quota and lacks
// nodes is due. A pass that finds no nodes is tried again after a wait that doubles, from 1 s to 30
// s.
//
// Threads: one. Errors: none.
// Source: Kueue pkg/cache/queue/second_pass_queue.go.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "queue/queue_set.h"

namespace berth::admission {

using queue::WorkloadId;

class SecondPasses {
 public:
  // No effect where the workload has a second pass already.
  void Add(WorkloadId id, WallTime now);
  void Remove(WorkloadId id) { passes_.erase(id); }
  // The pass of the workload found no nodes. Precondition: the workload has a second pass.
  void PutOff(WorkloadId id, WallTime now);

  std::optional<WallTime> Next() const;  // nullopt: none
  // The workloads whose pass is due, in the order of their numbers.
  std::vector<WorkloadId> Due(WallTime now) const;

 private:
  struct Pass {
    WallTime due{};
    int attempts = 0;
  };
  std::map<WorkloadId, Pass> passes_;
};

}  // namespace berth::admission

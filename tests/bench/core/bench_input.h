// tests/bench/core/bench_input.h — the input of the throughput measurement: PENDING workloads over
// QUEUES queues in COHORTS cohorts, one flavor, all waiting from the start.
//
// 70 % small (1-2 cores, priority 50, run for 10 cycles), 20 % medium (4-6 cores, 100, 25 cycles),
// 10 % large (12-20 cores, 200, 50 cycles). The same numbers give the same input everywhere. Kueue
// was measured with this input, so its random generator is that of CPython.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "admission/scheduler.h"

namespace berth::bench {

struct InputSize {
  int pending = 1000;
  int queues = 30;
  int cohorts = 5;
  std::uint32_t seed = 1;
  int parked = 0;     // more, of priority 1000, above every quota
  int unchanged = 0;  // more queues, without changes
};

struct BenchWorkload {
  std::shared_ptr<const api::Workload> object;
  int runs_for_cycles = 0;
};

std::vector<BenchWorkload> MakeWorkloads(const InputSize& size);

// Queues in cohorts of their own, ten in each, without changes afterwards: every other one is
// empty; the rest are full, with one more workload that was refused. Apply first.
void ApplyUnchangedQueues(const InputSize& size, admission::Scheduler& scheduler, WallTime now);

// Namespace, flavor, ClusterQueues (nominal 20 cores, borrowing limit 100) and LocalQueues.
void ApplyQueues(const InputSize& size, admission::Scheduler& scheduler);

}  // namespace berth::bench

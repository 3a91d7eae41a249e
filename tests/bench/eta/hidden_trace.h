// tests/bench/eta/hidden_trace.h — a made cluster and its jobs, whose run times follow
// distributions that a forecast does not know, and their real starts on the scheduler.
//
// Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulation/cluster_objects.h"
#include "simulation/jobs.h"
#include "simulation/run_key.h"

namespace berth::bench {

inline constexpr WallTime kTraceStart{std::chrono::seconds(1'800'000'000)};

struct TraceOptions {
  int jobs = 18'000;
  int queues = 4;
  int gpus_of_queue = 16;
  int names = 60;         // names of recurring jobs, each with a distribution of its own
  double load = 0.95;     // a share of all GPUs
  bool reclaims = false;  // queues take lent GPUs back
  std::uint64_t seed = 1;
};

struct HiddenJob {
  simulation::RunKey key;
  Duration submit{};
  Duration run{};
  Duration deadline{};            // since the start of the trace; no queue orders by deadlines
  std::optional<Duration> start;  // the real one
  std::optional<Duration> end;
  std::shared_ptr<const api::Workload> waiting;
  std::shared_ptr<const api::Workload> running;  // admitted at `start`
};

struct HiddenTrace {
  simulation::Cluster cluster;  // prepared
  std::vector<HiddenJob> jobs;  // in the order of submission
};

// The jobs arrive at random (exponential), have a name of a log-normal run time, one of two
// priorities, and a declared maximum of two to ten times what is usual for the name. Deadlines are
// a sixteenth to four times the declared maximum after submission.
HiddenTrace MakeTrace(const TraceOptions& options);

}  // namespace berth::bench

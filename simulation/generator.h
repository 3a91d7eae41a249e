// simulation/generator.h — workloads made by chance: arrivals, shapes, run times and graphs of
// stages.
//
//     JobSource ──GenerateTrace(seed)──▶ jobs of a Trace
//
// A source makes `count` jobs that arrive one after the other, or a graph of stages: every job of a
// stage waits for all jobs of the stage before. The width of a stage is chosen evenly between
// max(min, last − variation) and min(max, last + variation), the width of the first stage between
// min and max.
//
// The same sources and seed give the same jobs. Each source has random numbers of its own: a source
// that is added at the end does not change the jobs of other sources.
//
// Units: microseconds; amounts as in api/quantity.h. Bounds: kMaxTraceJobs jobs, kMaxTraceTime.
// Threads: pure functions. Errors: kInvalid: the sources make more jobs than kMaxTraceJobs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/quantity.h"
#include "base/clock.h"
#include "base/result.h"
#include "simulation/trace.h"

namespace berth::simulation {

// A random span.
struct RandomSpan {
  enum class Kind : std::uint8_t { kFixed, kUniform, kExponential, kLognormal, kValues };
  Kind kind = Kind::kFixed;
  Duration first{};              // by kind: the span, the least span, the mean, the median
  Duration last{};               // kUniform: the greatest span
  double sigma = 0;              // kLognormal: the deviation of the logarithm
  std::vector<Duration> values;  // kValues: one of these spans
};

struct JobShapeChoice {
  double weight = 1;
  std::int32_t pods = 1;
  api::ResourceAmounts requests;  // what one pod requests
};

struct StagePhase {
  std::int32_t stages = 1;
  std::int32_t min = 1;
  std::int32_t max = 1;
  std::int32_t variation = 0;
};

struct JobSource {
  std::string queue;     // has the form of TraceJob::queue
  std::string priority;  // has the form of TraceJob::priority
  Duration start{};      // when the first arrival, or the graph, comes
  std::int64_t count = 1;
  RandomSpan between;  // two arrivals
  std::vector<JobShapeChoice> shapes;
  RandomSpan run;
  double failing = 0;              // the share of the jobs that fail at the end of their run
  RandomSpan linger;               // after the run: the job keeps its quota, and the next
                                   // stage may begin
  std::vector<StagePhase> phases;  // not empty: a graph; `count` and `between` do not count
  RandomSpan think;                // from the end of a stage to the submission of the next one
};

Result<Trace> GenerateTrace(const std::vector<JobSource>& sources, std::uint64_t seed);

}  // namespace berth::simulation

// jobs/haversine/pipeline.h — takes, decodes, computes and sums several batches in parallel.
//
//     Take (in turn) --> Decode, Compute (each worker) --> Add, write distances (in input order)
//
// The result does not depend on the number of workers: batches are summed in input order.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.h"
#include "jobs/haversine/device.h"
#include "jobs/haversine/reference.h"
#include "jobs/haversine/source.h"

namespace berth::haversine {

struct Outcome {
  RowCounts counts;
  Summary summary;
  CheckReport check;
  BadRow first_bad;  // line of the input
  double seconds = 0.0;
};

struct Progress {
  std::uint64_t rows = 0;
  double fraction = 0.0;  // 0 to 1
};

struct PipelineOptions {
  std::uint64_t check_rows = 0;
  // Called in input order, never by two threads at once.
  std::function<Status(std::span<const double> km)> write_distances;
  std::function<void(const Progress&)> on_progress;
};

// Runs one worker thread per device. The first error in input order ends the run.
Result<Outcome> RunPipeline(Source& source, DeviceSet& devices, const PipelineOptions& options);

}  // namespace berth::haversine

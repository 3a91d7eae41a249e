// jobs/haversine/gpu_kernel.h — the distances of trips that lie in a GPU's memory.
//
// Sums do not depend on the GPU: the number of blocks follows from the number of rows, and both
// steps of the sum have a fixed order.
//
// Threads: calls with different DistanceScratch may run at the same time.
#pragma once

#include <cstddef>

#include <cuda_runtime.h>

#include "jobs/haversine/kernel.h"

namespace berth::haversine {

struct GpuSummary {
  double sum_km;
  double max_km;
  unsigned long long bins[kBinCount];
};

// In the GPU's memory, 16-byte aligned.
struct GpuColumns {
  const double* values[4];  // in the order of kColumnNames
};

// A block computes less than 2^32 rows.
struct BlockSummary {
  double sum_km;
  double max_km;
  unsigned int bins[kBinCount];
};

// Memory of the GPU for one launch at a time.
struct DistanceScratch {
  BlockSummary* blocks = nullptr;    // kMostBlocks
  unsigned int* finished = nullptr;  // how many blocks are done; 0 between launches
};

// Four for each multiprocessor of an H100, so that one wave of blocks fills it: with 4,096 the
// kernel is a sixth slower there.
inline constexpr unsigned int kMostBlocks = 512;
inline constexpr unsigned int kThreadsPerBlock = 256;

unsigned int BlocksFor(std::size_t rows);

// Starts the computation of `rows` trips on `stream`: distances to `km` (16-byte aligned; null:
// none), their summary to `*summary`, all in the GPU's memory.
cudaError_t LaunchDistances(const GpuColumns& columns, std::size_t rows, double* km,
                            const DistanceScratch& scratch, GpuSummary* summary,
                            unsigned int blocks, cudaStream_t stream);

}  // namespace berth::haversine

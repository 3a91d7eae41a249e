#include <algorithm>

#include "jobs/haversine/gpu_distance.h"
#include "jobs/haversine/gpu_kernel.h"

namespace berth::haversine {
namespace {

constexpr unsigned int kWarps = kThreadsPerBlock / 32;
constexpr std::size_t kRowsPerThread = 2;  // so that a load is 16 bytes

struct Tally {
  double sum = 0.0;
  double maximum = 0.0;
};

// Adds the tallies of the block's threads in a fixed order. The result is valid in thread 0.
__device__ Tally AddThreads(Tally tally) {
  constexpr unsigned int kAllLanes = 0xFFFFFFFF;
  for (unsigned int half = 16; half > 0; half /= 2) {
    tally.sum += __shfl_down_sync(kAllLanes, tally.sum, half);
    tally.maximum = fmax(tally.maximum, __shfl_down_sync(kAllLanes, tally.maximum, half));
  }
  __shared__ double sums[kWarps];
  __shared__ double maxima[kWarps];
  const unsigned int warp = threadIdx.x / 32;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    sums[warp] = tally.sum;
    maxima[warp] = tally.maximum;
  }
  __syncthreads();
  for (unsigned int other = 1; threadIdx.x == 0 && other < kWarps; ++other) {
    tally.sum += sums[other];
    tally.maximum = fmax(tally.maximum, maxima[other]);
  }
  return tally;
}

// Each warp has bins of its own: short trips fill few bins, and atomics on one address wait.
using Bins = unsigned int[kBinCount];

__device__ void AddTrip(double value, Tally& tally, Bins& bins) {
  tally.sum += value;
  tally.maximum = fmax(tally.maximum, value);
  const unsigned int bin = static_cast<unsigned int>(value);
  atomicAdd(&bins[bin < kBinCount ? bin : kBinCount - 1], 1);
}

__device__ Tally ComputeRows(const GpuColumns& columns, std::size_t rows, double* km, Bins& bins) {
  Tally tally;
  const std::size_t stride = std::size_t{gridDim.x} * kThreadsPerBlock * kRowsPerThread;
  const std::size_t first =
      (std::size_t{blockIdx.x} * kThreadsPerBlock + threadIdx.x) * kRowsPerThread;
  const std::size_t pairs_end = rows / kRowsPerThread * kRowsPerThread;
#pragma unroll 2
  for (std::size_t row = first; row < pairs_end; row += stride) {
    double2 trips[4];
    for (int column = 0; column < 4; ++column) {
      trips[column] = __ldcs(reinterpret_cast<const double2*>(columns.values[column] + row));
    }
    double2 distances;
    distances.x = GpuDistanceKm(trips[0].x, trips[1].x, trips[2].x, trips[3].x);
    distances.y = GpuDistanceKm(trips[0].y, trips[1].y, trips[2].y, trips[3].y);
    if (km != nullptr) __stcs(reinterpret_cast<double2*>(km + row), distances);
    AddTrip(distances.x, tally, bins);
    AddTrip(distances.y, tally, bins);
  }
  if (pairs_end < rows && first == 0) {
    const double value = GpuDistanceKm(columns.values[0][pairs_end], columns.values[1][pairs_end],
                                       columns.values[2][pairs_end], columns.values[3][pairs_end]);
    if (km != nullptr) km[pairs_end] = value;
    AddTrip(value, tally, bins);
  }
  return tally;
}

// Adds the summaries of all blocks. One block, the last that finishes, calls it.
__device__ void AddBlocks(const BlockSummary* blocks, GpuSummary* summary) {
  Tally tally;
  for (unsigned int block = threadIdx.x; block < gridDim.x; block += kThreadsPerBlock) {
    tally.sum += __ldcg(&blocks[block].sum_km);
    tally.maximum = fmax(tally.maximum, __ldcg(&blocks[block].max_km));
  }
  const Tally all = AddThreads(tally);
  if (threadIdx.x == 0) {
    summary->sum_km = all.sum;
    summary->max_km = all.maximum;
  }
  __shared__ unsigned long long bins[kBinCount];
  for (unsigned int bin = threadIdx.x; bin < kBinCount; bin += kThreadsPerBlock) bins[bin] = 0;
  __syncthreads();
  for (unsigned int i = threadIdx.x; i < gridDim.x * kBinCount; i += kThreadsPerBlock) {
    const unsigned int count = __ldcg(&blocks[i / kBinCount].bins[i % kBinCount]);
    if (count != 0) atomicAdd(&bins[i % kBinCount], static_cast<unsigned long long>(count));
  }
  __syncthreads();
  for (unsigned int bin = threadIdx.x; bin < kBinCount; bin += kThreadsPerBlock) {
    summary->bins[bin] = bins[bin];
  }
}

__global__ void __launch_bounds__(kThreadsPerBlock, 4)
    ComputeDistances(GpuColumns columns, std::size_t rows, double* km, DistanceScratch scratch,
                     GpuSummary* summary) {
  __shared__ Bins bins[kWarps];
  __shared__ bool last;
  const unsigned int thread = threadIdx.x;
  for (unsigned int i = thread; i < kWarps * kBinCount; i += kThreadsPerBlock) {
    bins[i / kBinCount][i % kBinCount] = 0;
  }
  __syncthreads();

  const Tally block = AddThreads(ComputeRows(columns, rows, km, bins[thread / 32]));
  BlockSummary& mine = scratch.blocks[blockIdx.x];
  if (thread == 0) {
    mine.sum_km = block.sum;
    mine.max_km = block.maximum;
  }
  for (unsigned int bin = thread; bin < kBinCount; bin += kThreadsPerBlock) {
    unsigned int count = 0;
    for (unsigned int warp = 0; warp < kWarps; ++warp) count += bins[warp][bin];
    mine.bins[bin] = count;
  }
  // What this block wrote is visible to the block that sees its count.
  __threadfence();
  __syncthreads();
  if (thread == 0) last = atomicInc(scratch.finished, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  AddBlocks(scratch.blocks, summary);
}

}  // namespace

unsigned int BlocksFor(std::size_t rows) {
  constexpr std::size_t kRowsPerBlock = kThreadsPerBlock * kRowsPerThread;
  return static_cast<unsigned int>(
      std::clamp<std::size_t>((rows + kRowsPerBlock - 1) / kRowsPerBlock, 1, kMostBlocks));
}

cudaError_t LaunchDistances(const GpuColumns& columns, std::size_t rows, double* km,
                            const DistanceScratch& scratch, GpuSummary* summary,
                            unsigned int blocks, cudaStream_t stream) {
  ComputeDistances<<<blocks, kThreadsPerBlock, 0, stream>>>(columns, rows, km, scratch, summary);
  return cudaGetLastError();
}

}  // namespace berth::haversine

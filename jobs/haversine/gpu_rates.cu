// What a GPU can do at most, and what the haversine job does on it, in one run: rates of memory, of
// arithmetic and of transfers, then of the kernel over resident trips and of the job's device over
// trips in host memory. Prints one JSON object; tools/gpu-check runs it.
//
//   haversine-gpu-rates [ROWS]   resident trips (default 2^27, 5.4 GB of the GPU's memory)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime.h>

#include "jobs/haversine/device.h"
#include "jobs/haversine/gpu_kernel.h"
#include "jobs/haversine/source.h"

namespace berth::haversine {
namespace {

constexpr int kRounds = 9;

void Need(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "haversine-gpu-rates: %s: %s\n", what, cudaGetErrorString(code));
  std::exit(code == cudaErrorNoDevice || code == cudaErrorInsufficientDriver ? 77 : 1);
}

template <typename T>
T* OnGpu(std::size_t count) {
  T* memory = nullptr;
  Need(cudaMalloc(&memory, count * sizeof(T)), "allocating");
  Need(cudaMemset(memory, 0, count * sizeof(T)), "clearing");
  return memory;
}

// The median of the seconds that `work` takes on the GPU, after one round that does not count.
double GpuSeconds(const std::function<void()>& work) {
  cudaEvent_t start = nullptr;
  cudaEvent_t stop = nullptr;
  Need(cudaEventCreate(&start), "making an event");
  Need(cudaEventCreate(&stop), "making an event");
  std::vector<float> rounds;
  for (int round = 0; round <= kRounds; ++round) {
    Need(cudaEventRecord(start), "recording");
    work();
    Need(cudaEventRecord(stop), "recording");
    Need(cudaEventSynchronize(stop), "waiting");
    float milliseconds = 0;
    Need(cudaEventElapsedTime(&milliseconds, start, stop), "measuring");
    if (round > 0) rounds.push_back(milliseconds);
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() / 2] / 1e3;
}

// This kernel has the memory traffic of the job's and no other work: four columns in, one out.
__global__ void CopyRows(GpuColumns columns, std::size_t rows, double* out) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x * 2;
  for (std::size_t row = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) * 2; row + 1 < rows;
       row += stride) {
    double2 sum{0, 0};
    for (int column = 0; column < 4; ++column) {
      const double2 value = __ldcs(reinterpret_cast<const double2*>(columns.values[column] + row));
      sum.x = fmax(sum.x, value.x);
      sum.y = fmax(sum.y, value.y);
    }
    __stcs(reinterpret_cast<double2*>(out + row), sum);
  }
}

// Nothing but fused multiply-adds in double precision: kChains that do not depend on one another.
constexpr int kChains = 8;
constexpr int kSteps = 4096;
__global__ void MultiplyAdd(double* out, double factor) {
  double values[kChains];
  for (int i = 0; i < kChains; ++i) values[i] = threadIdx.x + i;
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int i = 0; i < kChains; ++i) values[i] = fma(values[i], factor, 1e-3);
  }
  double sum = 0;
  for (int i = 0; i < kChains; ++i) sum += values[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

struct Resident {
  std::size_t rows = 0;
  GpuColumns columns{};
  double* km = nullptr;
  DistanceScratch scratch;
  GpuSummary* summary = nullptr;
};

// The generator's trips, repeated to fill the columns.
Resident MakeResident(std::size_t rows) {
  Resident trips;
  trips.rows = rows;
  const auto source = MakeGenerator(kBatchRows, 1);
  Batch batch;
  static_cast<void>(source->Take(batch));
  static_cast<void>(source->Decode(batch));
  for (int column = 0; column < 4; ++column) {
    auto* values = OnGpu<double>(rows);
    trips.columns.values[column] = values;
    for (std::size_t row = 0; row < rows; row += kBatchRows) {
      const std::size_t count = std::min(kBatchRows, rows - row);
      Need(cudaMemcpy(values + row, batch.trips.values[column].data(), count * sizeof(double),
                      cudaMemcpyHostToDevice),
           "copying");
    }
  }
  trips.km = OnGpu<double>(rows);
  trips.scratch.blocks = OnGpu<BlockSummary>(kMostBlocks);
  trips.scratch.finished = OnGpu<unsigned int>(1);
  trips.summary = OnGpu<GpuSummary>(1);
  return trips;
}

void PrintResident(const Resident& trips) {
  const auto rows = static_cast<double>(trips.rows);
  const double copy = GpuSeconds([&] {
    Need(cudaMemcpyAsync(trips.km, trips.columns.values[0], trips.rows * sizeof(double),
                         cudaMemcpyDeviceToDevice),
         "copying");
  });
  std::printf("  \"copyBytesPerSecond\": %.4g,\n", 2 * rows * sizeof(double) / copy);
  const double columns = GpuSeconds(
      [&] { CopyRows<<<4096, kThreadsPerBlock>>>(trips.columns, trips.rows, trips.km); });
  std::printf("  \"fourColumnsInOneOutBytesPerSecond\": %.4g,\n",
              5 * rows * sizeof(double) / columns);
  cudaDeviceProp properties{};
  Need(cudaGetDeviceProperties(&properties, 0), "asking for its name");
  const int blocks = properties.multiProcessorCount * 8;
  const double arithmetic =
      GpuSeconds([&] { MultiplyAdd<<<blocks, kThreadsPerBlock>>>(trips.km, 0.999); });
  std::printf("  \"multiplyAddsPerSecond\": %.4g,\n",
              static_cast<double>(blocks) * kThreadsPerBlock * kChains * kSteps / arithmetic);
  std::printf("  \"resident\": [\n");
  const unsigned int most = BlocksFor(trips.rows);
  for (const unsigned int count : {most / 2, most}) {
    for (double* km : {trips.km, static_cast<double*>(nullptr)}) {
      const double seconds = GpuSeconds([&] {
        Need(LaunchDistances(trips.columns, trips.rows, km, trips.scratch, trips.summary, count,
                             nullptr),
             "starting the kernel");
      });
      const double bytes = rows * sizeof(double) * (km != nullptr ? 5 : 4);
      std::printf(
          "    {\"blocks\": %u, \"distances\": %s, \"rowsPerSecond\": %.4g, "
          "\"bytesPerSecond\": %.4g}%s\n",
          count, km != nullptr ? "true" : "false", rows / seconds, bytes / seconds,
          count == most && km == nullptr ? "" : ",");
    }
  }
  std::printf("  ],\n");
}

// Transfers between pinned memory and the GPU: one way, the other, and both at once as the job's
// bytes are (four columns there, one back).
void PrintTransfers() {
  constexpr std::size_t kBytes = std::size_t{1} << 29;
  char* host = nullptr;
  char* back = nullptr;
  Need(cudaMallocHost(&host, kBytes), "allocating");
  Need(cudaMallocHost(&back, kBytes), "allocating");
  char* there = OnGpu<char>(kBytes);
  char* result = OnGpu<char>(kBytes);
  cudaStream_t streams[2];
  for (cudaStream_t& stream : streams) Need(cudaStreamCreate(&stream), "making a stream");
  const auto seconds = [&](std::size_t to, std::size_t from) {
    std::vector<double> rounds;
    for (int round = 0; round <= kRounds; ++round) {
      const auto started = std::chrono::steady_clock::now();
      if (to > 0) {
        Need(cudaMemcpyAsync(there, host, to, cudaMemcpyHostToDevice, streams[0]), "copying");
      }
      if (from > 0) {
        Need(cudaMemcpyAsync(back, result, from, cudaMemcpyDeviceToHost, streams[1]), "copying");
      }
      Need(cudaDeviceSynchronize(), "waiting");
      rounds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count());
    }
    std::sort(rounds.begin(), rounds.end());
    return rounds[rounds.size() / 2];
  };
  constexpr double kRowBytes = 32;
  const double there_alone = seconds(kBytes, 0);
  std::printf("  \"toGpuBytesPerSecond\": %.4g,\n", kBytes / there_alone);
  std::printf("  \"fromGpuBytesPerSecond\": %.4g,\n", kBytes / seconds(0, kBytes));
  std::printf("  \"transferBoundRowsPerSecond\": {\"summary\": %.4g, \"distances\": %.4g},\n",
              kBytes / kRowBytes / there_alone, kBytes / kRowBytes / seconds(kBytes, kBytes / 4));
  cudaFreeHost(host);
  cudaFreeHost(back);
  cudaFree(there);
  cudaFree(result);
}

// The job's device over trips that lie in host memory already: `workers` threads, each with its
// batch.
double HostRowsPerSecond(int workers, bool pinned, bool distances) {
  auto devices = MakeGpuDevices(workers);
  if (!devices) {
    std::fprintf(stderr, "haversine-gpu-rates: %s\n", devices.error().message.c_str());
    std::exit(1);
  }
  constexpr int kBatches = 200;
  const auto source = MakeGenerator(kBatchRows, 1);
  std::vector<Batch> batches;
  std::vector<Values> km;
  for (const auto& device : devices->devices) {
    auto* memory = pinned ? device->memory() : std::pmr::get_default_resource();
    Batch& batch = batches.emplace_back(memory);
    km.emplace_back(memory);
    batch.row_count = kBatchRows;
    static_cast<void>(source->Decode(batch));
  }
  const auto compute = [&](std::size_t worker, int rounds) {
    for (int round = 0; round < rounds; ++round) {
      const auto summary = devices->devices[worker]->Compute(batches[worker].trips,
                                                             distances ? &km[worker] : nullptr);
      if (!summary) std::abort();
    }
  };
  for (std::size_t worker = 0; worker < batches.size(); ++worker) compute(worker, 2);
  const auto started = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> threads;
    for (std::size_t worker = 0; worker < batches.size(); ++worker) {
      threads.emplace_back([&, worker] { compute(worker, kBatches); });
    }
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return static_cast<double>(batches.size()) * kBatches * kBatchRows / seconds;
}

void PrintHost() {
  std::printf("  \"host\": [\n");
  constexpr int kMost = 16;
  for (int workers = 2; workers <= kMost; workers *= 2) {
    for (const bool pinned : {true, false}) {
      for (const bool distances : {true, false}) {
        std::printf(
            "    {\"workers\": %d, \"pinned\": %s, \"distances\": %s, "
            "\"rowsPerSecond\": %.4g}%s\n",
            workers, pinned ? "true" : "false", distances ? "true" : "false",
            HostRowsPerSecond(workers, pinned, distances),
            workers == kMost && !pinned && !distances ? "" : ",");
      }
    }
  }
  std::printf("  ]\n");
}

}  // namespace
}  // namespace berth::haversine

int main(int argc, char** argv) {
  using namespace berth::haversine;
  const std::size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::size_t{1} << 27;
  cudaDeviceProp properties{};
  Need(cudaGetDeviceProperties(&properties, 0), "finding a GPU");
  int driver = 0;
  Need(cudaDriverGetVersion(&driver), "asking for the driver");
  std::printf(
      "{\n  \"device\": \"%s\",\n  \"sm\": \"%d%d\",\n  \"driver\": %d,\n  \"rows\": %zu,\n",
      properties.name, properties.major, properties.minor, driver, rows);
  PrintResident(MakeResident(rows));
  PrintTransfers();
  PrintHost();
  std::printf("}\n");
}

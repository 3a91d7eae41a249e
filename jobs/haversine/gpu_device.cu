// Computes distances on every GPU of the machine: each worker has its own stream and buffers, so
// that copies and computations of several workers overlap.
#include <algorithm>
#include <iterator>
#include <memory_resource>
#include <new>
#include <string>
#include <utility>

#include <cuda_runtime.h>

#include "jobs/haversine/device.h"
#include "jobs/haversine/gpu_kernel.h"

namespace berth::haversine {
namespace {

Status Check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return OkStatus();
  return Error{ErrorCode::kUnavailable,
               std::string("GPU: ") + what + ": " + cudaGetErrorString(code)};
}

// Memory of the host that no page fault moves, from which and to which GPUs copy at full speed
// while the processor goes on. An allocation takes milliseconds.
class PinnedMemory : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t) override {
    void* memory = nullptr;
    if (cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) != cudaSuccess) throw std::bad_alloc();
    return memory;
  }
  void do_deallocate(void* memory, std::size_t, std::size_t) override { cudaFreeHost(memory); }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
};

class GpuDevice : public Device {
 public:
  explicit GpuDevice(int ordinal) : ordinal_(ordinal) {}
  GpuDevice(const GpuDevice&) = delete;
  GpuDevice& operator=(const GpuDevice&) = delete;
  ~GpuDevice() override {
    static_cast<void>(cudaSetDevice(ordinal_));
    cudaFree(columns_);
    cudaFree(summary_);
    cudaFree(scratch_.blocks);
    cudaFree(scratch_.finished);
    if (host_summary_ != nullptr) cudaFreeHost(host_summary_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  Status Open() {
    BERTH_CHECK_OK(Check(cudaSetDevice(ordinal_), "selecting it"));
    BERTH_CHECK_OK(Check(cudaStreamCreate(&stream_), "making a stream"));
    BERTH_CHECK_OK(
        Check(cudaMalloc(&scratch_.blocks, kMostBlocks * sizeof(BlockSummary)), "allocating"));
    BERTH_CHECK_OK(Check(cudaMalloc(&scratch_.finished, sizeof(unsigned int)), "allocating"));
    BERTH_CHECK_OK(Check(cudaMemset(scratch_.finished, 0, sizeof(unsigned int)), "clearing"));
    BERTH_CHECK_OK(Check(cudaMalloc(&summary_, sizeof(GpuSummary)), "allocating"));
    return Check(cudaMallocHost(&host_summary_, sizeof(GpuSummary)), "allocating");
  }

  Result<Summary> Compute(const Columns& trips, Values* km) override {
    const std::size_t count = trips.size();
    if (km != nullptr) km->resize(count);
    if (count == 0) return Summary();
    // The current device is a property of the thread, and the worker's thread is not Open's.
    BERTH_CHECK_OK(Check(cudaSetDevice(ordinal_), "selecting it"));
    BERTH_CHECK_OK(Reserve(count));
    const std::size_t bytes = count * sizeof(double);
    GpuColumns columns{};
    for (std::size_t column = 0; column < 4; ++column) {
      double* target = columns_ + column * capacity_;
      columns.values[column] = target;
      BERTH_CHECK_OK(Check(cudaMemcpyAsync(target, trips.values[column].data(), bytes,
                                           cudaMemcpyHostToDevice, stream_),
                           "copying trips"));
    }
    double* distances = km != nullptr ? columns_ + 4 * capacity_ : nullptr;
    BERTH_CHECK_OK(Check(
        LaunchDistances(columns, count, distances, scratch_, summary_, BlocksFor(count), stream_),
        "starting the kernel"));
    if (km != nullptr) {
      BERTH_CHECK_OK(
          Check(cudaMemcpyAsync(km->data(), distances, bytes, cudaMemcpyDeviceToHost, stream_),
                "copying distances"));
    }
    BERTH_CHECK_OK(Check(cudaMemcpyAsync(host_summary_, summary_, sizeof(GpuSummary),
                                         cudaMemcpyDeviceToHost, stream_),
                         "copying the summary"));
    BERTH_CHECK_OK(Check(cudaStreamSynchronize(stream_), "computing"));
    Summary summary;
    summary.rows = count;
    summary.sum_km = host_summary_->sum_km;
    summary.max_km = host_summary_->max_km;
    std::copy(std::begin(host_summary_->bins), std::end(host_summary_->bins), summary.bins.begin());
    return summary;
  }

  std::pmr::memory_resource* memory() override {
    static PinnedMemory pinned;
    return &pinned;
  }

 private:
  Status Reserve(std::size_t count) {
    if (count <= capacity_) return OkStatus();
    cudaFree(columns_);
    columns_ = nullptr;
    capacity_ = 0;
    // CSV batches differ in size. Even, so that each column is 16-byte aligned.
    const std::size_t rows = (count + count / 4 + 1) / 2 * 2;
    BERTH_CHECK_OK(Check(cudaMalloc(&columns_, 5 * rows * sizeof(double)), "allocating"));
    capacity_ = rows;
    return OkStatus();
  }

  int ordinal_;
  cudaStream_t stream_ = nullptr;
  std::size_t capacity_ = 0;   // rows
  double* columns_ = nullptr;  // four columns, then the distances
  DistanceScratch scratch_;
  GpuSummary* summary_ = nullptr;
  GpuSummary* host_summary_ = nullptr;  // pinned
};

}  // namespace

Result<DeviceSet> MakeGpuDevices(int workers) {
  int count = 0;
  const cudaError_t found = cudaGetDeviceCount(&count);
  // "insufficient driver" means no driver, "no device" no card.
  if (found == cudaErrorInsufficientDriver || found == cudaErrorNoDevice ||
      (found == cudaSuccess && count == 0)) {
    return Error{ErrorCode::kNotFound, std::string("no GPU: ") + cudaGetErrorString(found)};
  }
  BERTH_CHECK_OK(Check(found, "counting"));

  DeviceSet set;
  cudaDeviceProp properties{};
  BERTH_CHECK_OK(Check(cudaGetDeviceProperties(&properties, 0), "asking for its name"));
  set.description = "gpu, " + std::to_string(count) + " × " + properties.name + ", sm_" +
                    std::to_string(properties.major) + std::to_string(properties.minor);
  for (int worker = 0; worker < std::max(workers, 2 * count); ++worker) {
    auto device = std::make_unique<GpuDevice>(worker % count);
    BERTH_CHECK_OK(device->Open());
    set.devices.push_back(std::move(device));
  }
  return Result<DeviceSet>(std::move(set));  // nvcc needs the explicit move
}

}  // namespace berth::haversine

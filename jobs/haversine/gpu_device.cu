// Computes distances on every GPU of the machine: each worker has its own stream and buffers, so
// that copies and computations of several workers overlap.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include <cuda_runtime.h>

#include "jobs/haversine/device.h"
#include "jobs/haversine/kernel_variants.h"

namespace berth::haversine {
namespace {

constexpr int kThreadsPerBlock = 256;
constexpr int kBlocks = 512;  // fixed, so that sums are the same on every GPU

// The summary of one block; the host adds them in the order of blocks.
struct Partial {
  double sum_km;
  double max_km;
  unsigned long long bins[kBinCount];
};

struct DeviceColumns {
  const double* values[4];
};

__device__ double DistanceKm(double longitude1, double latitude1, double longitude2,
                             double latitude2) {
  constexpr double kRadians = 3.14159265358979323846 / 180.0;
  const double sin_dlat = sin((latitude2 - latitude1) * (kRadians / 2));
  const double sin_dlon = sin((longitude2 - longitude1) * (kRadians / 2));
  const double h = sin_dlat * sin_dlat +
                   cos(latitude1 * kRadians) * cos(latitude2 * kRadians) * sin_dlon * sin_dlon;
  return 2 * kEarthRadiusKm * asin(sqrt(fmin(1.0, fmax(0.0, h))));
}

__global__ void ComputeDistances(DeviceColumns columns, std::size_t count, double* km,
                                 Partial* partials) {
  __shared__ double sums[kThreadsPerBlock];
  __shared__ double maxima[kThreadsPerBlock];
  __shared__ unsigned int bins[kBinCount];
  const unsigned int thread = threadIdx.x;
  for (unsigned int bin = thread; bin < kBinCount; bin += blockDim.x) bins[bin] = 0;
  __syncthreads();

  double sum = 0.0;
  double maximum = 0.0;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t row = static_cast<std::size_t>(blockIdx.x) * blockDim.x + thread; row < count;
       row += stride) {
    const double value = DistanceKm(columns.values[0][row], columns.values[1][row],
                                    columns.values[2][row], columns.values[3][row]);
    km[row] = value;
    sum += value;
    maximum = fmax(maximum, value);
    atomicAdd(&bins[static_cast<unsigned int>(fmin(value, static_cast<double>(kBinCount - 1)))], 1);
  }
  sums[thread] = sum;
  maxima[thread] = maximum;
  __syncthreads();

  for (unsigned int half = kThreadsPerBlock / 2; half > 0; half /= 2) {
    if (thread < half) {
      sums[thread] += sums[thread + half];
      maxima[thread] = fmax(maxima[thread], maxima[thread + half]);
    }
    __syncthreads();
  }
  Partial& partial = partials[blockIdx.x];
  if (thread == 0) {
    partial.sum_km = sums[0];
    partial.max_km = maxima[0];
  }
  for (unsigned int bin = thread; bin < kBinCount; bin += blockDim.x) partial.bins[bin] = bins[bin];
}

Status Check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return OkStatus();
  return Error{ErrorCode::kUnavailable,
               std::string("GPU: ") + what + ": " + cudaGetErrorString(code)};
}

class GpuDevice : public Device {
 public:
  explicit GpuDevice(int ordinal) : ordinal_(ordinal) {}
  GpuDevice(const GpuDevice&) = delete;
  GpuDevice& operator=(const GpuDevice&) = delete;
  ~GpuDevice() override {
    static_cast<void>(cudaSetDevice(ordinal_));
    Free();
    if (partials_ != nullptr) cudaFree(partials_);
    if (host_partials_ != nullptr) cudaFreeHost(host_partials_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  Status Open() {
    BERTH_CHECK_OK(Check(cudaSetDevice(ordinal_), "selecting it"));
    BERTH_CHECK_OK(Check(cudaStreamCreate(&stream_), "making a stream"));
    BERTH_CHECK_OK(Check(cudaMalloc(&partials_, kBlocks * sizeof(Partial)), "allocating"));
    return Check(cudaMallocHost(&host_partials_, kBlocks * sizeof(Partial)), "allocating");
  }

  Result<Summary> Compute(const Columns& trips, std::vector<double>& km) override {
    const std::size_t count = trips.size();
    km.resize(count);
    Summary summary;
    if (count == 0) return summary;
    // The current device is a property of the thread, and the worker's thread is not Open's.
    BERTH_CHECK_OK(Check(cudaSetDevice(ordinal_), "selecting it"));
    BERTH_CHECK_OK(Reserve(count));
    const std::size_t bytes = count * sizeof(double);
    DeviceColumns columns{};
    for (std::size_t column = 0; column < 4; ++column) {
      // Only pinned memory is copied asynchronously.
      std::memcpy(host_ + column * capacity_, trips.values[column].data(), bytes);
      double* target = device_ + column * capacity_;
      columns.values[column] = target;
      BERTH_CHECK_OK(Check(cudaMemcpyAsync(target, host_ + column * capacity_, bytes,
                                           cudaMemcpyHostToDevice, stream_),
                           "copying trips"));
    }
    double* device_km = device_ + 4 * capacity_;
    double* host_km = host_ + 4 * capacity_;
    ComputeDistances<<<kBlocks, kThreadsPerBlock, 0, stream_>>>(columns, count, device_km,
                                                                partials_);
    BERTH_CHECK_OK(Check(cudaGetLastError(), "starting the kernel"));
    BERTH_CHECK_OK(Check(
        cudaMemcpyAsync(host_km, device_km, bytes, cudaMemcpyDeviceToHost, stream_), "copying"));
    BERTH_CHECK_OK(Check(cudaMemcpyAsync(host_partials_, partials_, kBlocks * sizeof(Partial),
                                         cudaMemcpyDeviceToHost, stream_),
                         "copying"));
    BERTH_CHECK_OK(Check(cudaStreamSynchronize(stream_), "computing"));
    std::memcpy(km.data(), host_km, bytes);
    return Sum(count);
  }

 private:
  Summary Sum(std::size_t count) const {
    Summary summary;
    summary.rows = count;
    for (int block = 0; block < kBlocks; ++block) {
      const Partial& partial = host_partials_[block];
      summary.sum_km += partial.sum_km;
      summary.max_km = std::max(summary.max_km, partial.max_km);
      for (std::size_t bin = 0; bin < kBinCount; ++bin) summary.bins[bin] += partial.bins[bin];
    }
    return summary;
  }

  Status Reserve(std::size_t count) {
    if (count <= capacity_) return OkStatus();
    Free();
    const std::size_t rows = count + count / 4;  // CSV batches differ in size
    BERTH_CHECK_OK(Check(cudaMalloc(&device_, 5 * rows * sizeof(double)), "allocating"));
    BERTH_CHECK_OK(Check(cudaMallocHost(&host_, 5 * rows * sizeof(double)), "allocating"));
    capacity_ = rows;
    return OkStatus();
  }

  void Free() {
    if (device_ != nullptr) cudaFree(device_);
    if (host_ != nullptr) cudaFreeHost(host_);
    device_ = nullptr;
    host_ = nullptr;
    capacity_ = 0;
  }

  int ordinal_;
  cudaStream_t stream_ = nullptr;
  std::size_t capacity_ = 0;  // rows; four columns, then the distances
  double* device_ = nullptr;
  double* host_ = nullptr;  // pinned
  Partial* partials_ = nullptr;
  Partial* host_partials_ = nullptr;
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

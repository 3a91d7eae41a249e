// jobs/haversine/device.h — what computes: a core of the processor, or a GPU.
//
// Threads: a Device belongs to one worker thread; different ones work at the same time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "jobs/haversine/kernel.h"
#include "jobs/haversine/trip.h"

namespace berth::haversine {

class Device {
 public:
  virtual ~Device() = default;
  // The distance of each trip into `km`, which is resized, and their summary. Trips are possible
  // ones (DropBadTrips). kUnavailable: the device failed.
  virtual Result<Summary> Compute(const Columns& trips, std::vector<double>& km) = 0;
};

struct DeviceSet {
  std::string description;                       // "cpu, 2 threads, x86-64-v3"
  std::vector<std::unique_ptr<Device>> devices;  // one for each worker thread
};

// `threads` ≥ 1.
DeviceSet MakeCpuDevices(int threads);

// `workers` or more threads, spread over all GPUs; they also decode the input.
// kNotFound: there is no GPU, or this program was built without CUDA; the message says which.
Result<DeviceSet> MakeGpuDevices(int workers);

}  // namespace berth::haversine

// jobs/haversine/device.h — a device that computes distances: a core of the processor, or a GPU.
//
// Threads: a Device belongs to one worker thread; several Devices work in parallel.
#pragma once

#include <memory>
#include <memory_resource>
#include <string>
#include <vector>

#include "base/result.h"
#include "jobs/haversine/kernel.h"
#include "jobs/haversine/trip.h"

namespace berth::haversine {

class Device {
 public:
  virtual ~Device() = default;
  // Writes the distance of each trip to `km`, which is resized, and returns their summary; null:
  // the summary alone. All trips must be possible (DropBadTrips). kUnavailable: the device failed.
  virtual Result<Summary> Compute(const Columns& trips, Values* km) = 0;
  // The memory from which this device reads trips, and to which it writes distances, fastest. The
  // memory resource lives as long as the program.
  virtual std::pmr::memory_resource* memory() { return std::pmr::get_default_resource(); }
};

struct DeviceSet {
  std::string description;                       // "cpu, 2 threads, x86-64-v3"
  std::vector<std::unique_ptr<Device>> devices;  // one for each worker thread
};

// `threads` ≥ 1.
DeviceSet MakeCpuDevices(int threads);

// Spreads `workers` or more threads over all GPUs; the threads decode the input too. kNotFound:
// there is no GPU, or the program was built without CUDA; the message says which.
Result<DeviceSet> MakeGpuDevices(int workers);

}  // namespace berth::haversine

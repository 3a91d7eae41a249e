// Compiled in place of gpu_device.cu without nvcc.
#include "jobs/haversine/device.h"

namespace berth::haversine {

Result<DeviceSet> MakeGpuDevices(int /*workers*/) {
  return Error{ErrorCode::kNotFound,
               "this program was built without CUDA (use haversine-cuda; tools/build --cuda)"};
}

}  // namespace berth::haversine

#include <algorithm>
#include <array>

#include "jobs/haversine/device.h"

namespace berth::haversine {
namespace {

// Four columns in, one out: 320 KiB, so that the summary reads distances from the cache.
constexpr std::size_t kBlockRows = 8192;

class CpuDevice : public Device {
 public:
  explicit CpuDevice(DistanceFunction distances) : distances_(distances) {}

  Result<Summary> Compute(const Columns& trips, Values* km) override {
    if (km != nullptr) km->resize(trips.size());
    Summary summary;
    for (std::size_t first = 0; first < trips.size(); first += kBlockRows) {
      const std::size_t count = std::min(kBlockRows, trips.size() - first);
      const auto& values = trips.values;
      const std::array<const double*, 4> columns = {
          values[0].data() + first, values[1].data() + first, values[2].data() + first,
          values[3].data() + first};
      double* distances = km != nullptr ? km->data() + first : block_.data();
      distances_(columns.data(), count, distances);
      summary.Add(Summarise({distances, count}));
    }
    return summary;
  }

 private:
  DistanceFunction distances_;
  std::array<double, kBlockRows> block_{};  // the distances of a block that nobody wants
};

}  // namespace

DeviceSet MakeCpuDevices(int threads) {
  const Kernel kernel = UsableKernels().front();
  DeviceSet set;
  set.description = "cpu, " + std::to_string(threads) +
                    (threads == 1 ? " thread, " : " threads, ") + std::string(kernel.name);
  for (int thread = 0; thread < threads; ++thread) {
    set.devices.push_back(std::make_unique<CpuDevice>(kernel.distances));
  }
  return set;
}

}  // namespace berth::haversine

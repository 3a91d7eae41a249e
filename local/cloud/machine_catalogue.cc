#include "local/cloud/machine_catalogue.h"

#include <algorithm>
#include <array>
#include <utility>

namespace berth::local::cloud {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;
constexpr std::int64_t kGiB = 1024 * kMiB;

constexpr std::array kCatalogue{
    MachineType{"e2-small", 2000, 2 * kGiB, 0.01675, 0.00503, 990},
    MachineType{"e2-medium", 2000, 4 * kGiB, 0.03350, 0.01005, 990},
    MachineType{"e2-standard-2", 2000, 8 * kGiB, 0.06701, 0.02010},
    MachineType{"e2-standard-4", 4000, 16 * kGiB, 0.13402, 0.04021},
    MachineType{"n1-standard-1", 1000, 3840 * kMiB, 0.0475, 0.010},
    MachineType{"n1-standard-2", 2000, 7680 * kMiB, 0.445, 0.13},
    MachineType{"n1-standard-4", 4000, 15 * kGiB, 0.89, 0.26},
    MachineType{"n1-standard-8", 8000, 30 * kGiB, 1.78, 0.52},
    MachineType{"a2-highgpu-1g", 12000, 85 * kGiB, 3.673385, 1.102016},
    MachineType{"a2-highgpu-8g", 96000, 680 * kGiB, 29.38708, 8.816128},
    MachineType{"a3-highgpu-1g", 26000, 234 * kGiB, 11.0, 5.5},
    MachineType{"a3-highgpu-8g", 208000, 1872 * kGiB, 88.0, 44.0},
    MachineType{"g4dn.xlarge", 4000, 16 * kGiB, 0.526, 0.16},
    MachineType{"Standard_NC6s_v3", 6000, 112 * kGiB, 3.06, 0.31},
};

// Splits `amount` into the tiers' sizes, each tier reserving its share in tenths of a percent.
template <std::size_t kCount>
std::int64_t Reserved(std::int64_t amount,
                      const std::array<std::pair<std::int64_t, std::int64_t>, kCount>& tiers) {
  std::int64_t reserved = 0;
  for (const auto& [size, share] : tiers) {
    const std::int64_t part = std::min(amount, size);
    reserved += part / 1000 * share + part % 1000 * share / 1000;
    amount -= part;
  }
  return reserved;
}

}  // namespace

const MachineType* FindMachineType(std::string_view name) {
  const auto* found = std::find_if(kCatalogue.begin(), kCatalogue.end(),
                                   [&](const MachineType& one) { return one.name == name; });
  return found == kCatalogue.end() ? nullptr : found;
}

std::vector<std::string> MachineTypeNames() {
  std::vector<std::string> names;
  for (const MachineType& machine : kCatalogue) names.emplace_back(machine.name);
  return names;
}

std::int64_t AllocatableCpuMilli(const MachineType& machine) {
  // 6 % of the first core, 1 % of the second, 0.5 % of the next two, 0.25 % of the rest: in
  // hundredths of a milli-CPU, to stay with integers.
  static constexpr std::array<std::pair<std::int64_t, std::int64_t>, 3> kTiers{
      {{100'000, 60}, {100'000, 10}, {200'000, 5}}};
  const std::int64_t cpu = machine.cpu_milli * 100;
  const std::int64_t rest = std::max<std::int64_t>(cpu - 400'000, 0);
  const std::int64_t reserved = Reserved(cpu, kTiers) + rest / 400;
  return machine.cpu_milli - reserved / 100 - machine.shared_cpu_milli;
}

std::int64_t AllocatableMemoryBytes(const MachineType& machine) {
  static constexpr std::array<std::pair<std::int64_t, std::int64_t>, 5> kTiers{
      {{4 * kGiB, 250}, {4 * kGiB, 200}, {8 * kGiB, 100}, {112 * kGiB, 60}, {INT64_MAX, 20}}};
  constexpr std::int64_t kEvictionThreshold = 100 * kMiB;
  return machine.memory_bytes - Reserved(machine.memory_bytes, kTiers) - kEvictionThreshold;
}

}  // namespace berth::local::cloud

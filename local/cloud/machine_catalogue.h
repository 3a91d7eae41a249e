// local/cloud/machine_catalogue.h — the machine types of the emulated cloud.
//
// Units: cpu in milli-CPU, memory in bytes, prices in USD per hour, list, before discounts.
// Pure. Source: public price lists of Google Cloud, AWS and Azure, 2026-08 (us-central1, us-east-1,
// East US).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::local::cloud {

struct MachineType {
  std::string_view name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  double price_on_demand = 0;  // includes its accelerators
  double price_spot = 0;
  std::int64_t shared_cpu_milli = 0;  // the part of a shared-core machine that is not guaranteed
};

const MachineType* FindMachineType(std::string_view name);  // null: no such type
std::vector<std::string> MachineTypeNames();

// Allocatable amounts: capacity less GKE's reservations for the system.
std::int64_t AllocatableCpuMilli(const MachineType& machine);
std::int64_t AllocatableMemoryBytes(const MachineType& machine);

}  // namespace berth::local::cloud

// local/cloud/machine_size.h — the CPUs and the memory that this process may use.
//
// The least of: the CPUs of the process' affinity and the memory of the machine; the limits of each
// control group above the process, of version 2 (cpu.max, memory.max) and of version 1
// (cpu.cfs_quota_us, memory.limit_in_bytes).
//
// Source: the kernel's cgroup-v1 and cgroup-v2 documentation; proc(5).
#pragma once

#include <string>

#include "local/cloud/machine_node.h"

namespace berth::local::cloud {

// `root`: the folder that contains proc and sys; empty: the machine's root.
MachineSize ReadMachineSize(const std::string& root = "");

}  // namespace berth::local::cloud

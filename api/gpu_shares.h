// api/gpu_shares.h — GPUs that pods share: annotations of a ResourceFlavor, quota in whole GPUs.
//
//   berth.dev/shares-per-gpu: nvidia.com/gpu=3    three of the resource are one GPU of this flavor
//   berth.dev/most-per-pod: nvidia.com/gpu=1      a pod of this flavor may ask for no more
//
// A ClusterQueue that covers the resource berth.dev/gpus is charged, beside the resources that pods
// ask for, with whole GPUs. Each device of a flavor without the annotation is one GPU.
//
// Units: millionths of a GPU. Threads: pure functions. Errors: kInvalid with the entry.
// Source: NVIDIA device plugin, sharing.timeSlicing and MIG (replicas, failRequestsGreaterThanOne).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "api/quantity.h"
#include "base/result.h"

namespace berth::api {

inline constexpr char kSharesPerGpuAnnotation[] = "berth.dev/shares-per-gpu";
inline constexpr char kMostPerPodAnnotation[] = "berth.dev/most-per-pod";
inline constexpr Amount kMostSharesPerGpu = 1'000'000;  // a share is at least a millionth

// "RESOURCE=NUMBER,…" with numbers from 1 to kMostSharesPerGpu.
Result<std::map<std::string, Amount>> ParseShareNumbers(std::string_view text);

// Whether a device plugin gives out GPUs, or shares of GPUs, under the name: "nvidia.com/gpu",
// "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb".
bool IsGpuResource(std::string_view resource);

// `amount` of a resource of which `shares` are one GPU, in millionths of a GPU, rounded down.
Amount GpusOf(Amount amount, Amount shares);

}  // namespace berth::api

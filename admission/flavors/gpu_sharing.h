// admission/flavors/gpu_sharing.h — what a flavor's annotations say about shares of GPUs
// (api/gpu_shares.h), compiled to numbers of resources.
//
// Threads: one. Errors: an annotation that cannot be read counts as absent; the review of
// ResourceFlavors refuses such annotations.
#pragma once

#include <optional>
#include <vector>

#include "admission/quota/quota_tree.h"
#include "api/queues.h"
#include "queue/workload_info.h"

namespace berth::admission {

using queue::ResourceId;

class GpuSharing {
 public:
  GpuSharing() = default;
  GpuSharing(const api::ResourceFlavor& flavor, queue::Names& resources);

  // No annotation: each GPU resource is a whole GPU, and pods may ask for any number.
  bool empty() const { return shares_per_gpu_.empty() && most_per_pod_.empty(); }
  // The resources of the annotation, each with the number of its shares that make one GPU.
  const std::vector<queue::ResourceRequest>& shares_per_gpu() const { return shares_per_gpu_; }
  // The GPUs of the requests, in millionths.
  Amount GpusOf(const queue::Requests& requests, const queue::Names& resources) const;
  // The first request of one pod that is above the flavor's limit, with the limit.
  struct Excess {
    queue::ResourceRequest request;
    Amount most = 0;
  };
  std::optional<Excess> FindExcess(const queue::Requests& per_pod) const;
  friend bool operator==(const GpuSharing&, const GpuSharing&) = default;

 private:
  std::vector<queue::ResourceRequest> shares_per_gpu_;
  std::vector<queue::ResourceRequest> most_per_pod_;
};

// Whether the requests ask for GPUs or shares of GPUs.
bool AsksForGpus(const queue::Requests& requests, const queue::Names& resources);

}  // namespace berth::admission

// admission/catalogue/flavor_table.h — the ResourceFlavors by number, with the facts that every
// head reads of a flavor.
//
// Threads: one. Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "admission/flavors/gpu_sharing.h"
#include "admission/quota/flavor_resources.h"
#include "api/queues.h"

namespace berth::admission {

class FlavorTable {
 public:
  void Set(FlavorId id, std::shared_ptr<const api::ResourceFlavor> object, GpuSharing sharing);
  void Remove(FlavorId id);

  // Null where no such flavor exists. The reference is valid until the next change.
  const std::shared_ptr<const api::ResourceFlavor>& Find(FlavorId id) const;
  // Shares nothing where no such flavor exists.
  const GpuSharing& sharing(FlavorId id) const;
  // Whether the flavor exists and has no node labels to match, no taints to tolerate, and no limit
  // on the requests of one pod.
  bool TakesAllPods(FlavorId id) const {
    const auto slot = static_cast<std::size_t>(id);
    return slot < takes_all_pods_.size() && takes_all_pods_[slot] != 0;
  }

 private:
  struct Flavor {
    std::shared_ptr<const api::ResourceFlavor> object;
    GpuSharing sharing;
  };

  std::vector<Flavor> flavors_;               // by FlavorId
  std::vector<std::uint8_t> takes_all_pods_;  // by FlavorId
};

}  // namespace berth::admission

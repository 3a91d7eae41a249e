// admission/catalogue/queue_state.h — a ClusterQueue as decisions read it: its spec, its resource
// groups compiled to numbers, and the reasons why it takes no heads.
//
// Threads: data. Errors: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "admission/quota/flavor_resources.h"
#include "admission/quota/quota_tree.h"
#include "api/queues.h"
#include "base/small_vector.h"

namespace berth::admission {

// A resource group compiled to numbers, contiguous in memory: each head reads one.
struct CompiledGroup {
  SmallVector<ResourceId, 4> resources;               // by name
  SmallVector<FlavorId, 4> flavors;                   // in the order in which they are tried
  SmallVector<FlavorResourceId, 8> flavor_resources;  // by flavor, then resource

  bool Covers(ResourceId resource) const {
    return std::find(resources.begin(), resources.end(), resource) != resources.end();
  }
  bool Has(FlavorId flavor) const {
    return std::find(flavors.begin(), flavors.end(), flavor) != flavors.end();
  }
  // Returns -1 where the flavor has no quota for the resource.
  FlavorResourceId Find(std::size_t flavor_index, ResourceId resource) const {
    const auto found = std::find(resources.begin(), resources.end(), resource);
    if (found == resources.end()) return -1;
    return flavor_resources[flavor_index * resources.size() +
                            static_cast<std::size_t>(found - resources.begin())];
  }
};

struct InactiveReason {
  std::string reason;   // reason of the condition Active
  std::string message;  // a part of the condition's message
};

struct QueueState {
  // The fields that each head reads come first.
  NodeId node = kNoQuotaNode;
  bool present = false;
  bool deleting = false;
  std::int64_t changed_at = 0;           // the count of the ChangeClock
  std::vector<InactiveReason> inactive;  // empty: the queue takes heads
  SmallVector<CompiledGroup, 1> groups;
  api::ClusterQueueSpec spec;
  std::string name;

  bool active() const { return present && inactive.empty(); }
  const CompiledGroup* GroupOf(ResourceId resource) const {
    for (const CompiledGroup& group : groups) {
      if (group.Covers(resource)) return &group;
    }
    return nullptr;
  }
  std::string ActiveReason() const;
  std::string ActiveMessage() const;
};

}  // namespace berth::admission

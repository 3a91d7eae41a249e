// admission/quota/flavor_resources.h — the numbers of pairs of a flavor and a resource, in the
// order in which the pairs were first named. A number is never given to another pair.
//
// Threads: one. Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "admission/quota/quota_cells.h"
#include "queue/workload_info.h"

namespace berth::admission {

using queue::ResourceId;
using FlavorId = std::int32_t;

class FlavorResources {
 public:
  // Returns the number of the pair; a new pair gets the next number.
  FlavorResourceId Number(FlavorId flavor, ResourceId resource) {
    const auto [found, added] =
        numbers_.try_emplace({flavor, resource}, static_cast<FlavorResourceId>(pairs_.size()));
    if (added) pairs_.emplace_back(flavor, resource);
    return found->second;
  }
  // `fr` is a number that Number returned.
  FlavorId FlavorOf(FlavorResourceId fr) const {
    return pairs_[static_cast<std::size_t>(fr)].first;
  }
  ResourceId ResourceOf(FlavorResourceId fr) const {
    return pairs_[static_cast<std::size_t>(fr)].second;
  }
  // Greater than every number.
  FlavorResourceId size() const { return static_cast<FlavorResourceId>(pairs_.size()); }

 private:
  std::vector<std::pair<FlavorId, ResourceId>> pairs_;
  std::map<std::pair<FlavorId, ResourceId>, FlavorResourceId> numbers_;
};

}  // namespace berth::admission

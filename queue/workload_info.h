// queue/workload_info.h — a workload as the decisions read it: compact, computed once per change of
// the object.
//
// Units: amounts as in api/quantity.h, per pod; resources are numbers of a Names table.
// Threads: pure functions (the Names table has one user). Errors: none.
// Source: Kueue pkg/workload (Info, TotalRequests), pkg/workload equivalence hash (KEP-9694).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/quantity.h"
#include "api/workload.h"
#include "base/clock.h"
#include "base/small_vector.h"
#include "queue/names.h"
#include "queue/ordering.h"

namespace berth::queue {

using ResourceId = std::int32_t;

struct ResourceRequest {
  ResourceId resource = 0;
  api::Amount amount = 0;
  friend bool operator==(const ResourceRequest&, const ResourceRequest&) = default;
};

using Requests = SmallVector<ResourceRequest, 2>;

struct PodSetInfo {
  std::string name;
  std::int32_t count = 0;         // pods that still need quota: without the reclaimable ones
  std::int32_t min_count = 0;     // equals the full count where partial admission is not allowed
  Requests per_pod;               // by resource name
  bool topology_request = false;  // the object has one
  bool may_shrink = false;        // the object has a minCount
};

// One entry of `resources.transformations` of Kueue's configuration.
struct ResourceTransformation {
  enum class Strategy : std::uint8_t { kRetain, kReplace };
  std::string input;
  Strategy strategy = Strategy::kRetain;
  std::string multiply_by;  // empty: by nothing
  std::map<std::string, api::Quantity> outputs;
};

struct InfoOptions {
  OrderingOptions ordering;
  bool equivalence_hashing = true;
  std::vector<std::string> excluded_resource_prefixes;
  std::vector<ResourceTransformation> transformations;
};

inline constexpr std::uint64_t kUnknownShape = 0;

struct WorkloadInfo {
  std::shared_ptr<const api::Workload> object;
  std::int64_t priority = 0;  // effective
  WallTime queued_at{};
  std::uint64_t shape = kUnknownShape;  // equal for workloads that the scheduler cannot tell apart
  bool failed_check = false;            // some admission check says Retry or Rejected
  SmallVector<PodSetInfo, 1> pod_sets;

  bool HasTopologyRequest() const {
    return std::any_of(pod_sets.begin(), pod_sets.end(),
                       [](const PodSetInfo& info) { return info.topology_request; });
  }
};

WorkloadInfo BuildWorkloadInfo(std::shared_ptr<const api::Workload> object,
                               const InfoOptions& options, Names& resources);

// How many pods of each pod set still need quota.
std::vector<std::int32_t> CountsAfterReclaim(const api::Workload& workload);

// What one pod of `pod_set` asks, after exclusions and transformations.
api::ResourceAmounts EffectiveRequests(const api::PodSet& pod_set, const InfoOptions& options);

// Held back by the annotation kueue.x-k8s.io/admission-gated-by.
bool IsGated(const api::Workload& workload);

// Not finished, active, without a reservation, not gated, without claims: belongs into a queue.
bool BelongsInQueue(const api::Workload& workload);

}  // namespace berth::queue

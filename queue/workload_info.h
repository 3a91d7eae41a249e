// queue/workload_info.h — the facts of a workload that decisions read: compact, computed once per
// change of the object.
//
// Units: amounts as in api/quantity.h, per pod; resources are numbers of a Names table.
// Threads: pure functions (the Names table has one user). Errors: none.
// Source: Kueue pkg/workload (Info, TotalRequests), pkg/workload equivalence hash (KEP-9694).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
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

using Requests = SmallVector<ResourceRequest, 3>;  // processor, memory, GPUs

struct PodSetInfo {
  std::string name;
  std::int32_t count = 0;         // pods that need quota: without the reclaimable ones
  std::int32_t min_count = 0;     // the full count where partial admission is not allowed
  Requests per_pod;               // by resource name
  bool topology_request = false;  // the pod set has a topology request
  bool may_shrink = false;        // the pod set has a minCount
};

// One entry of `resources.transformations` of Kueue's configuration.
struct ResourceTransformation {
  enum class Strategy : std::uint8_t { kRetain, kReplace };
  std::string input;
  Strategy strategy = Strategy::kRetain;
  std::string multiply_by;  // empty: no factor
  std::map<std::string, api::Quantity> outputs;
};

// Whether status.reclaimablePods frees quota (Kueue's gate ReclaimablePods).
enum class ReclaimRule : std::uint8_t { kFrees, kIgnored };

struct InfoOptions {
  OrderingOptions ordering;
  ReclaimRule reclaim = ReclaimRule::kFrees;
  bool equivalence_hashing = true;
  std::vector<std::string> excluded_resource_prefixes;
  std::vector<ResourceTransformation> transformations;
  // Resources that claimed devices are counted as: neither excluded nor transformed.
  std::vector<std::string> device_resources;
};

inline constexpr std::uint64_t kUnknownShape = 0;

struct WorkloadInfo {
  std::shared_ptr<const api::Workload> object;
  std::int64_t priority = 0;  // effective priority
  WallTime queued_at{};
  // The run time by which the workload is expected to have ended: the maximum that the workload
  // declares, else the estimate that the owner of this struct fills in.
  std::int64_t run_seconds = kUnknownRunSeconds;
  // The expected run time, which counts in the order of the queue: at most a declared maximum.
  std::int64_t expected_run_seconds = kUnknownRunSeconds;
  std::uint64_t run_group = 0;  // equal: run times are alike; 0: the owner estimates none
  WallTime deadline = kNoDeadline;
  std::uint64_t shape = kUnknownShape;  // equal: the scheduler cannot tell the workloads apart
  bool failed_check = false;            // an admission check has state Retry or Rejected
  bool avoids_flavors = false;          // has an annotation of flavors that are used up
  SmallVector<PodSetInfo, 1> pod_sets;

  // Whether an annotation of its provisioning policies (berth.dev/avoided-flavors,
  // berth.dev/reactive-avoided-flavors) keeps the workload from the flavor.
  bool Avoids(std::string_view flavor) const;
  bool HasTopologyRequest() const {
    return std::any_of(pod_sets.begin(), pod_sets.end(),
                       [](const PodSetInfo& info) { return info.topology_request; });
  }
};

WorkloadInfo BuildWorkloadInfo(std::shared_ptr<const api::Workload> object,
                               const InfoOptions& options, Names& resources);

// The number of pods of each pod set that need quota.
std::vector<std::int32_t> CountsAfterReclaim(const api::Workload& workload,
                                             ReclaimRule rule = ReclaimRule::kFrees);

// The requests of one pod of `pod_set`, after exclusions and transformations.
api::ResourceAmounts EffectiveRequests(const api::PodSet& pod_set, const InfoOptions& options);

// Whether an annotation differs that decides the order or the flavors of a workload.
bool DecidingAnnotationsDiffer(const api::Workload& before, const api::Workload& after);

// Whether the workload is active, unfinished, not held back, not deleted, without reservation.
bool BelongsInQueue(const api::Workload& workload);

}  // namespace berth::queue

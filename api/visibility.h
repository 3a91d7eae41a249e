// api/visibility.h — the visibility API (visibility.kueue.x-k8s.io): the workloads that wait in a
// queue, in their order.
//
// Both versions have the same fields. `berth.dev` annotations add why a workload waits.
#pragma once

#include <cstdint>
#include <string>

#include "api/object_meta.h"

namespace berth::api {

inline constexpr char kVisibilityGroup[] = "visibility.kueue.x-k8s.io";
inline constexpr char kVisibilityVersion[] = "v1beta2";  // preferred
inline constexpr char kOlderVisibilityVersion[] = "v1beta1";
inline constexpr char kPendingWorkloads[] = "pendingworkloads";  // the subresource
inline constexpr char kPendingSummaryKind[] = "PendingWorkloadsSummary";

// Reason and message of the Workload's condition QuotaReserved, while it is False.
inline constexpr char kPendingReasonAnnotation[] = "berth.dev/pending-reason";
inline constexpr char kPendingMessageAnnotation[] = "berth.dev/pending-message";

// The queue keeps a place for the workload: from when, and after which wait ("259200s").
inline constexpr char kPlaceKeptFromAnnotation[] = "berth.dev/place-kept-from";
inline constexpr char kPlaceKeptAfterAnnotation[] = "berth.dev/place-kept-after";

struct PendingWorkload {
  ObjectMeta meta;  // names, creation time, owners, annotations
  std::int64_t priority = 0;
  std::string local_queue;
  std::int64_t position_in_cluster_queue = 0;  // 0 is next
  std::int64_t position_in_local_queue = 0;
};

// PendingWorkloadOptions.
struct PendingPage {
  std::int64_t offset = 0;
  std::int64_t limit = 1000;
};
inline constexpr std::int64_t kMostPendingWorkloads = 100'000;  // the limit of one page

}  // namespace berth::api

// view/screens/place_in_queue.h — the place of each waiting workload in its queues, and the
// workload with an equal request that was tried in its place.
//
// Pure. The order is that of InQueueOrder.
#pragma once

#include <map>
#include <string>

#include "view/screens/cluster_view.h"

namespace berth::view {

struct QueuePlace {
  int in_cluster_queue = 0;  // among the workloads of the ClusterQueue without quota, from 1
  int position = 0;          // among the workloads of the LocalQueue without quota, from 1
  int waiting = 0;           // the number of workloads of the LocalQueue without quota
  // The nearest workload before this one in the ClusterQueue that has the same request and was
  // tried; null: none, or this workload was tried itself.
  const api::Workload* equal = nullptr;
};

// Whether the workload was not tried because one with an equal request had failed.
bool WasBypassed(const api::Workload& workload);

std::map<const api::Workload*, QueuePlace> PlacesInQueues(const ClusterView& view);

// "behind team-a/train-6 (same request)".
std::string BehindText(const api::Workload& equal);
// "4th of 9", in the LocalQueue.
std::string PositionText(const QueuePlace& place);

}  // namespace berth::view

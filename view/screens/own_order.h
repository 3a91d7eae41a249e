// view/screens/own_order.h — whether a ClusterQueue tries its workloads in another order than by
// priority and time.
//
// Pure.
#pragma once

#include "api/queue_policy.h"
#include "api/queues.h"

namespace berth::view {

// `policy`: the policy of the queue, completed by the policies of its Cohorts.
bool HasOwnOrder(const api::ClusterQueue& queue, const api::QueuePolicy& policy);

}  // namespace berth::view

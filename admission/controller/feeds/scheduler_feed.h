// admission/controller/feeds/scheduler_feed.h — shows the scheduler the objects that define quota
// and queues: namespaces, flavors, admission checks, cohorts, ClusterQueues, LocalQueues.
//
// Threads: the manager's Executor. The scheduler must outlive the manager's informers.
#pragma once

#include <functional>

#include "admission/scheduler.h"
#include "kube/runtime/manager.h"

namespace berth::admission {

// Calls `changed` after each change that may let a head move. Call before the informers start.
void FeedQueues(kube::Manager& manager, Scheduler& scheduler, std::function<void()> changed);

}  // namespace berth::admission

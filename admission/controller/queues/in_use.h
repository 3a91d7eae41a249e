// admission/controller/queues/in_use.h — whether an object names a flavor, a check or a topology.
// An object in use keeps its finalizer.
//
// Threads: one Executor.
#pragma once

#include <string>

#include "api/queues.h"
#include "kube/client/informer.h"

namespace berth::admission {

// Flavors in cohorts do not count: no workload is admitted by a cohort's quota alone.
bool FlavorInUse(const kube::Informer<api::ClusterQueue>& queues, const std::string& flavor);
bool CheckInUse(const kube::Informer<api::ClusterQueue>& queues, const std::string& check);
bool TopologyInUse(const kube::Informer<api::ResourceFlavor>& flavors, const std::string& topology);

}  // namespace berth::admission

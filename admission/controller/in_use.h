// admission/controller/in_use.h — who still names a flavor, a check or a topology: while somebody
// does, the object stays.
//
// Threads: one Executor.
#pragma once

#include <string>

#include "api/queues.h"
#include "kube/client/informer.h"

namespace berth::admission {

// A cohort's quota needs no flavor, and nobody is admitted by it alone: cohorts do not count.
bool FlavorInUse(const kube::Informer<api::ClusterQueue>& queues, const std::string& flavor);
bool CheckInUse(const kube::Informer<api::ClusterQueue>& queues, const std::string& check);
bool TopologyInUse(const kube::Informer<api::ResourceFlavor>& flavors, const std::string& topology);

}  // namespace berth::admission

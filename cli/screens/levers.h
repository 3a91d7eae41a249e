// cli/screens/levers.h — what would have to change for a waiting Workload to start, and what of its
// queue stands in its way.
//
// Made from the objects as they are and from the amounts that the decision recorded; nothing is
// decided anew.
#pragma once

#include <string>
#include <vector>

#include "cli/screens/cluster_view.h"
#include "cli/screens/text.h"

namespace berth::cli {

// Something about the LocalQueue, its ClusterQueue, its flavors or checks that lets nothing in.
struct QueueTrouble {
  std::string fact;                 // "ClusterQueue x is inactive (FlavorNotFound): …"
  std::vector<std::string> levers;  // "ResourceFlavor t4 existed", each ends "It would start if"
};

// The way from the Workload's LocalQueue to its quota, in order; empty where all of it is open.
std::vector<QueueTrouble> QueueTroubles(const ClusterView& view, const api::Workload& workload);

// The first of its StrictFIFO ClusterQueue, where that is another; null: nobody blocks it so.
const api::Workload* StrictHead(const ClusterView& view, const api::Workload& workload);

// Each ends the sentence "It would start if …".
std::vector<std::string> Levers(const ClusterView& view, const api::Workload& workload,
                                const TextStyle& style);

// When its request for capacity stops trying; empty where that does not apply.
std::string GivesUp(const ClusterView& view, const api::Workload& workload);

}  // namespace berth::cli

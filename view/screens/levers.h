// view/screens/levers.h — the changes that would let a waiting Workload start, and the obstacles in
// its queue.
//
// Derived from the present objects and from the amounts in the recorded decision; nothing is
// decided again.
#pragma once

#include <string>
#include <vector>

#include "view/screens/cluster_view.h"
#include "view/screens/text.h"

namespace berth::view {

// A fact about the LocalQueue, its ClusterQueue, its flavors or checks that stops all admissions.
struct QueueTrouble {
  std::string fact;                 // "ClusterQueue x is inactive (FlavorNotFound): …"
  std::vector<std::string> levers;  // "ResourceFlavor t4 existed", ends of "It would start if"
};

// The troubles from the Workload's LocalQueue to its quota, in order; empty: there are none.
std::vector<QueueTrouble> QueueTroubles(const ClusterView& view, const api::Workload& workload);

// The head of the Workload's StrictFIFO ClusterQueue, if the head is another Workload; null: no
// head blocks the Workload.
const api::Workload* StrictHead(const ClusterView& view, const api::Workload& workload);

// Each text is an end of the sentence "It would start if …".
std::vector<std::string> Levers(const ClusterView& view, const api::Workload& workload,
                                const TextStyle& style);

// When the Workload's ProvisioningRequest gives up; empty: never.
std::string GivesUp(const ClusterView& view, const api::Workload& workload);

}  // namespace berth::view

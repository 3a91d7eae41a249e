// view/screens/usage.h — quota and usage of queues and cohorts, summed for the screens.
//
// Usage and the number of running workloads come from one source, hence from one moment: the
// Workloads if the view has those of all namespaces, else the status of each ClusterQueue.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "view/screens/cluster_view.h"

namespace berth::view {

struct ResourceUse {
  api::Amount used = 0;
  api::Amount nominal = 0;
  api::Amount borrowed = 0;
  // The quota that other members of the cohort borrow from this queue. Set only where no other
  // member could have lent it: if there are several lenders, the source is unknown.
  api::Amount lent = 0;
};

struct QueueUse {
  const api::ClusterQueue* queue = nullptr;
  std::map<std::string, ResourceUse> resources;  // summed over flavors
  int waiting = 0;
  int running = 0;
  const api::Workload* oldest =
      nullptr;  // the oldest waiting Workload; null if the counts come from a status
};

// One entry per ClusterQueue, by name.
std::map<std::string, QueueUse> SumUse(const ClusterView& view);

// For each Cohort of the view its own quota, with the quota and use of all that is below;
// `borrowed` is the use of these beyond that quota.
std::map<std::string, std::map<std::string, ResourceUse>> SumCohorts(
    const ClusterView& view, const std::map<std::string, QueueUse>& uses);

// The cohort tree in display order: depth first, by name; queues before child cohorts.
struct QueueTreeLine {
  std::string prefix;  // "├─ ", or empty
  std::string cohort;  // set on a cohort's own line
  const api::ClusterQueue* queue = nullptr;
};
std::vector<QueueTreeLine> DrawQueueTree(const ClusterView& view, bool ascii);

// The root cohort above `cohort`; the cohort itself if it has no parent. Stops at a cycle.
std::string RootCohort(const ClusterView& view, const std::string& cohort);

}  // namespace berth::view

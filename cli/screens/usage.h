// cli/screens/usage.h — quota and usage of queues and cohorts, summed for the screens.
//
// What is used and how many run come from one list, and so from one moment: from the Workloads,
// where the view has those of all namespaces, else from the status of each ClusterQueue.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/screens/cluster_view.h"

namespace berth::cli {

struct ResourceUse {
  api::Amount used = 0;
  api::Amount nominal = 0;
  api::Amount borrowed = 0;
  // Of its own quota, what others of the cohort have borrowed. Only where no other member could
  // have lent it: with several lenders nobody can say whose it is.
  api::Amount lent = 0;
};

struct QueueUse {
  const api::ClusterQueue* queue = nullptr;
  std::map<std::string, ResourceUse> resources;  // summed over flavors
  int waiting = 0;
  int running = 0;
  const api::Workload* oldest = nullptr;  // that waits; null too where the counts are a status's
};

// One entry a ClusterQueue, by name.
std::map<std::string, QueueUse> SumUse(const ClusterView& view);

// The cohort tree in the order it is drawn: depth first, by name; queues before child cohorts.
struct QueueTreeLine {
  std::string prefix;  // "├─ ", or empty
  std::string cohort;  // a line of its own, or empty
  const api::ClusterQueue* queue = nullptr;
};
std::vector<QueueTreeLine> DrawQueueTree(const ClusterView& view, bool ascii);

// The root cohort above `cohort`; itself where it has no parent. Cycles end where they close.
std::string RootCohort(const ClusterView& view, const std::string& cohort);

}  // namespace berth::cli

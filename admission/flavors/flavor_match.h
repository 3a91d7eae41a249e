// admission/flavors/flavor_match.h — whether pods may run on the nodes of a flavor: its labels,
// taints, topology and shares of GPUs. Quota is another question (flavor_quota.h).
//
// Threads: pure functions. Errors: none; a flavor that does not serve is an answer with an
// obstacle. Source: Kueue pkg/scheduler/flavorassigner (checkFlavorForPodSets, flavorSelector).
#pragma once

#include <optional>
#include <string>

#include "admission/cluster_state.h"
#include "admission/decision.h"
#include "admission/flavors/pod_set_group.h"
#include "api/pod.h"
#include "api/queues.h"
#include "queue/workload_info.h"

namespace berth::admission {

// Whether required node affinity and selector, cut down to the flavor's own label keys, match it.
bool MatchesFlavor(const api::PodSpec& spec, const api::ResourceFlavor& flavor);
// The first NoSchedule or NoExecute taint that neither pods nor flavor tolerate, or null.
const api::Taint* UntoleratedTaint(const api::PodSpec& spec, const api::ResourceFlavor& flavor);

// The flavors that pods of one workload may use in one queue.
class FlavorMatch {
 public:
  // `topologies`: the gate TopologyAwareScheduling. `places_everything`: all flavors of the queue
  // have topologies, and the gate is on. State and workload must outlive the object.
  FlavorMatch(const ClusterState& state, const queue::WorkloadInfo& workload, bool topologies,
              bool places_everything)
      : state_(state),
        workload_(workload),
        topologies_(topologies),
        places_everything_(places_everything) {}

  // The first obstacle that the flavor is for the group's pods; nullopt: none.
  std::optional<Obstacle> FindObstacle(const PodSetGroup& group, const CompiledGroup& resources,
                                       FlavorId flavor) const;

 private:
  std::optional<std::string> TopologyMismatch(const api::PodSet& pod_set,
                                              const CompiledGroup& resources,
                                              FlavorId flavor) const;

  const ClusterState& state_;
  const queue::WorkloadInfo& workload_;
  bool topologies_;
  bool places_everything_;
};

}  // namespace berth::admission

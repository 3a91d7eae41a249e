// admission/topology/topology_placer.h — where topology-aware scheduling plugs in.
//
// The flavor assigner (admission/flavor_assigner.cc) decides quota alone. What depends on nodes it
// asks a TopologyPlacer: whether a flavor can serve a pod set at all (Matches), and, once flavors
// are chosen, where the pods go (Place). A preemption search asks Fits for each set of victims.
// Without a placer no flavor places pods. What a placed workload uses is told with Use and Free.
//
//     checkFlavor ──Matches──▶ placer        cycle: admit ──Use──▶ placer ◀──Free── release
//     assigned    ──Place────▶ placer        what-if: Begin … Use/Free … RollBack
//
// Threads: one. Errors: none; what does not fit is an answer.
// Source: Kueue KEP-2724.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/decision.h"
#include "queue/workload_info.h"

namespace berth::admission {

// Pods of one pod set on one flavor, to be placed together with those of the same group.
struct PlacementRequest {
  std::size_t pod_set = 0;  // index in the workload
  FlavorId flavor = -1;
  std::int32_t count = 0;
  queue::Requests per_pod;
};

struct Placement {
  std::size_t pod_set = 0;
  FlavorId flavor = -1;
  api::TopologyAssignment assignment;
};

struct PlacementFailure {
  std::size_t pod_set = 0;
  FlavorId flavor = -1;
  std::string reason;  // Kueue's words: topology "X" allows to fit only N out of M pod(s)
};

struct PlacementResult {
  std::vector<Placement> placements;
  std::optional<PlacementFailure> failure;
};

class TopologyPlacer {
 public:
  virtual ~TopologyPlacer() = default;

  // Whether the flavor has a topology.
  virtual bool HasTopology(FlavorId flavor) const = 0;
  // Why the flavor cannot serve the pod set, in Kueue's words; nullopt: it can.
  virtual std::optional<std::string> Mismatch(const QueueState& queue, const api::PodSet& pod_set,
                                              FlavorId flavor) const = 0;
  // Whether this pod set is placed by topology on a flavor that has one: asked for, or implied
  // because all flavors of the queue have topologies.
  virtual bool IsPlaced(const QueueState& queue, const api::PodSet& pod_set) const = 0;

  enum class Nodes : std::uint8_t { kAsUsed, kEmpty };  // kEmpty: as if nobody ran
  virtual PlacementResult Place(const api::Workload& workload,
                                const std::vector<PlacementRequest>& requests, Nodes nodes) = 0;

  // Usage of placed pods, real or in a what-if.
  virtual void Use(const queue::WorkloadInfo& workload, const std::vector<Placement>& placed) = 0;
  virtual void Free(const queue::WorkloadInfo& workload, const std::vector<Placement>& placed) = 0;
  virtual void Begin() = 0;  // what-ifs nest
  virtual void RollBack() = 0;
};

}  // namespace berth::admission

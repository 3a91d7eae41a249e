// provisioning/ways/node_leases.h — a check that uses idle nodes again (reuse.h), by leases on them
// (lease.h), instead of asking for capacity.
//
//     idle nodes that take all pods ─ one lease after the other ─▶ Ready ─ renewed while pods run
//
// Units: seconds. Threads: pure functions. Errors: none. Source: this repository's specification of
// capacity.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/pod.h"
#include "provisioning/ways/check_situation.h"
#include "provisioning/ways/move.h"

namespace berth::provisioning {

// Whether the pods of the check use leased nodes.
bool RunsOnLease(const CheckSituation& check);

// The leases of one check. `check` must outlive the object.
class NodeLeases {
 public:
  explicit NodeLeases(const CheckSituation& check);

  // Leases idle nodes that take all pods; with the last lease the check is Ready. Returns false
  // where capacity has to be asked for. Leases of other nodes are released.
  bool Take(Move& move) const;
  // Renews the leases of a Workload that runs on leased nodes, and gives nodes up that its pods
  // cannot use.
  void Keep(Move& move) const;

 private:
  std::vector<const api::Node*> LeasedNodes() const;
  std::optional<std::vector<const api::Node*>> NodesToLease() const;
  bool Holds(const api::Node& node) const;
  bool HoldsEnough() const;
  void Renew(Move& move) const;
  void GiveUpForTrouble(Move& move) const;

  const CheckSituation& check_;
  const std::string holder_;  // empty: the check does not lease nodes
};

}  // namespace berth::provisioning

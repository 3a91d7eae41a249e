// tests/support/quota_model.h — quota and usage of a ControlPlane, recomputed from its objects by
// the formulae of quota_formulae.h, to compare with QuotaTree.
//
// Units: amounts of the resource's smallest unit; small ones, nothing saturates here.
// Threads: one. Errors: none. No cycles of cohorts.
#pragma once

#include <string>
#include <vector>

#include "api/queues.h"
#include "simulation/control_plane.h"
#include "tests/support/quota_formulae.h"

namespace berth::support {

using simulation::ControlPlane;

class QuotaModel {
 public:
  enum class Evicted { kCount, kLeaveOut };  // evicted workloads that have not stopped

  QuotaModel(const ControlPlane& world, Evicted evicted);

  void AddUsage(const std::string& queue, const Amounts& usage);
  void RemoveUsage(const std::string& queue, const Amounts& usage);

  api::Amount Available(const std::string& queue, const FlavorResource& fr) const;
  api::Amount Potential(const std::string& queue, const FlavorResource& fr) const;
  bool Fits(const std::string& queue, const Amounts& usage) const;
  // Whether the queue would exceed its own quota with `usage`.
  bool Borrows(const std::string& queue, const Amounts& usage) const;

  // The nodes' names are "queue/NAME" or "cohort/NAME".
  std::vector<std::string> Nodes() const { return formulae_.Nodes(); }
  api::Amount Subtree(const std::string& node, const FlavorResource& fr) const {
    return formulae_.Subtree(node, fr);
  }
  api::Amount Usage(const std::string& node, const FlavorResource& fr) const {
    return formulae_.Usage(node, fr, usage_);
  }
  std::vector<FlavorResource> FlavorResources() const;

 private:
  QuotaFormulae formulae_;
  UsageByQueue usage_;
};

// The quota that the workload holds by its status: all pods of its admission but reclaimable ones.
Amounts HeldBy(const api::Workload& workload);
// The usage of a decision's assignment.
Amounts AskedBy(const admission::Decision& decision, const admission::Vocabulary& names);

}  // namespace berth::support

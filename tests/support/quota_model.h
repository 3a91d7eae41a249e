// tests/support/quota_model.h — quota and usage worked out anew from the objects by the formulae of
// Kueue's KEP-79, as plainly as they can be written: what QuotaTree is compared with.
//
//     local(n)     = lending limit ? max(0, subtree(n) - lending limit) : 0
//     subtree(n)   = nominal + sum over children (subtree - local)
//     usage(n)     = sum over children max(0, usage - local); of a leaf, what its workloads hold
//     available(n) = at the root subtree - usage; else max(0, local - usage) + P, where
//                    P = available(parent), with a borrowing limit at most
//                    (subtree - local) - max(0, usage - local) + limit
//
// Units: amounts of the resource's smallest unit; small ones, nothing saturates here.
// Threads: one. Errors: none. No cycles of cohorts.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/queues.h"
#include "tests/support/core_world.h"

namespace berth::support {

using FlavorResource = std::pair<std::string, std::string>;
using Amounts = std::map<FlavorResource, api::Amount>;

class QuotaModel {
 public:
  enum class Evicted { kCount, kLeaveOut };  // those that were told to stop and have not stopped

  QuotaModel(const CoreWorld& world, Evicted evicted);

  void AddUsage(const std::string& queue, const Amounts& usage);
  void RemoveUsage(const std::string& queue, const Amounts& usage);

  api::Amount Available(const std::string& queue, const FlavorResource& fr) const;
  api::Amount Potential(const std::string& queue, const FlavorResource& fr) const;
  bool Fits(const std::string& queue, const Amounts& usage) const;
  // With `usage` the queue would use more than its own quota.
  bool Borrows(const std::string& queue, const Amounts& usage) const;

  // By name of the node: "queue/NAME" or "cohort/NAME".
  std::vector<std::string> Nodes() const;
  api::Amount Subtree(const std::string& node, const FlavorResource& fr) const;
  api::Amount Usage(const std::string& node, const FlavorResource& fr) const;
  std::vector<FlavorResource> FlavorResources() const;

 private:
  struct Node {
    std::string parent;
    std::vector<std::string> children;
    std::map<FlavorResource, api::ResourceQuota> quotas;
    Amounts used;  // of a leaf
  };
  Node& Make(const std::string& name, const std::string& parent,
             const std::vector<api::ResourceGroup>& groups);
  api::Amount Local(const std::string& node, const FlavorResource& fr) const;
  api::Amount AvailableAt(const std::string& node, const FlavorResource& fr) const;
  api::Amount PotentialAt(const std::string& node, const FlavorResource& fr) const;
  const api::ResourceQuota* QuotaOf(const std::string& node, const FlavorResource& fr) const;

  std::map<std::string, Node> nodes_;
};

// What the workload holds by its status: all pods of its admission but the reclaimable ones.
Amounts HeldBy(const api::Workload& workload);
// What a decision asks.
Amounts AskedBy(const admission::Decision& decision, const admission::Vocabulary& names);

}  // namespace berth::support

// tests/support/quota_formulae.h — the quota of ClusterQueues and cohorts by the formulae of
// Kueue's KEP-79, in their plainest form: the one model for tests of the core (quota_model.h) and
// of the whole controller (tests/faults/quota_law.h).
//
//     local(n)     = lending limit ? max(0, subtree(n) - lending limit) : 0
//     subtree(n)   = nominal + sum over children (subtree - local)
//     usage(n)     = sum over children max(0, usage - local); of a ClusterQueue, its usage
//     available(n) = at the root subtree - usage; else max(0, local - usage) + P, where
//                    P = available(parent), with a borrowing limit at most
//                    (subtree - local) - max(0, usage - local) + limit
//     potential(n) = at the root subtree; else local + potential(parent), with a borrowing limit
//                    at most subtree + limit
//
// Nodes are named "queue/NAME" and "cohort/NAME".
//
// Units: amounts of the resource's smallest unit; small ones, nothing saturates here.
// Threads: one. Errors: none. Under a cycle of cohorts nothing is available.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace berth::support {

using FlavorResource = std::pair<std::string, std::string>;
using Amounts = std::map<FlavorResource, std::int64_t>;
using UsageByQueue = std::map<std::string, Amounts>;  // by ClusterQueue

struct Quota {
  std::int64_t nominal = 0;
  std::optional<std::int64_t> borrowing_limit;
  std::optional<std::int64_t> lending_limit;
  friend bool operator==(const Quota&, const Quota&) = default;
};
using Quotas = std::map<FlavorResource, Quota>;

class QuotaFormulae {
 public:
  // `cohort` may be empty. A cohort exists as soon as a node names it.
  void AddQueue(const std::string& name, const std::string& cohort, Quotas quotas);
  void AddCohort(const std::string& name, const std::string& parent, Quotas quotas);

  bool HasQueue(const std::string& queue) const { return nodes_.contains("queue/" + queue); }
  // The amount available to `queue`; negative if its quota was cut below its usage.
  std::int64_t Available(const std::string& queue, const FlavorResource& fr,
                         const UsageByQueue& usage) const;
  // The amount available to `queue` if nothing were in use.
  std::int64_t Potential(const std::string& queue, const FlavorResource& fr) const;
  std::int64_t PotentialOf(const std::string& node, const FlavorResource& fr) const;
  const std::string& ParentOf(const std::string& node) const;  // empty: a root
  std::int64_t Subtree(const std::string& node, const FlavorResource& fr) const;
  std::int64_t Usage(const std::string& node, const FlavorResource& fr,
                     const UsageByQueue& usage) const;
  // Whether two ClusterQueues have a common ancestor.
  bool SameTree(const std::string& queue, const std::string& other) const;
  // Whether `queue`, or a cohort above it, uses more than its own quota.
  bool BorrowsSomewhere(const std::string& queue, const FlavorResource& fr,
                        const UsageByQueue& usage) const;

  std::vector<std::string> Nodes() const;
  std::set<FlavorResource> FlavorResources() const;  // those with a quota

  friend bool operator==(const QuotaFormulae&, const QuotaFormulae&) = default;

 private:
  struct Node {
    std::string parent;  // empty: a root
    Quotas quotas;
    friend bool operator==(const Node&, const Node&) = default;
  };
  struct Numbers {
    std::int64_t subtree = 0;
    std::int64_t local = 0;
    std::int64_t usage = 0;
  };

  Quota QuotaOf(const std::string& node, const FlavorResource& fr) const;
  Numbers NumbersOf(const std::string& node, const FlavorResource& fr, const UsageByQueue& usage,
                    int depth) const;
  std::int64_t AvailableAt(const std::string& node, const FlavorResource& fr,
                           const UsageByQueue& usage, int depth) const;
  std::int64_t PotentialAt(const std::string& node, const FlavorResource& fr, int depth) const;
  std::string RootOf(const std::string& queue) const;

  std::map<std::string, Node> nodes_;
};

}  // namespace berth::support

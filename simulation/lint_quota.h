// simulation/lint_quota.h — quota that cannot be used, and queues without usable quota. Internal to
// LintQueues.
//
// The amount of a resource in a flavor that a queue can reach: its nominal quota, and what the
// other queues and the Cohorts of its tree can lend, up to its borrowingLimit. Limits of Cohorts
// between them are not counted: the figure is an upper bound.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulation/cluster_objects.h"

namespace berth::simulation {

struct QuotaProblem {
  bool is_error = false;
  const char* rule = "";
  std::vector<std::string> field;
  std::string message;
};

class LintQuota {
 public:
  explicit LintQuota(const Cluster& cluster);

  // "a > b > a"; empty: there is no cycle above the Cohort.
  std::string CycleAbove(const std::string& cohort) const;
  // Whether some queue or Cohort has a flavor of the name.
  bool IsOffered(const std::string& flavor) const { return offered_.count(flavor) > 0; }
  // Whether the other ClusterQueues of its tree can use some quota of the queue.
  bool Lends(const api::ClusterQueue& queue) const;
  // `flavors`: the ResourceFlavors that exist.
  std::vector<QuotaProblem> ProblemsOf(const api::ClusterQueue& queue,
                                       const std::set<std::string>& flavors) const;
  // The problems of a Cohort: flavors that do not exist, and quota that no ClusterQueue below can
  // use. If the Cohort has no ClusterQueue below, its only problem says so.
  std::vector<QuotaProblem> ProblemsOf(const api::Cohort& cohort,
                                       const std::set<std::string>& flavors) const;
  // A queue that may reclaim everything that `queue` uses; empty: there is none, or `queue` has
  // quota of its own.
  std::string ReclaimerOf(const api::ClusterQueue& queue) const;

 private:
  using Cell = std::pair<std::string, api::ResourceName>;  // flavor, resource

  std::string RootOf(std::string cohort) const;
  // The ClusterQueues of the Cohort and of the Cohorts below it.
  std::vector<const api::ClusterQueue*> QueuesBelow(const std::string& cohort) const;
  api::Amount LentBy(const api::ClusterQueue& queue, const Cell& cell) const;
  api::Amount LentTo(const api::ClusterQueue& queue, const Cell& cell) const;
  void LintFlavor(const api::ClusterQueue& queue, std::size_t group, std::size_t flavor,
                  std::vector<QuotaProblem>& problems) const;
  void LintLimits(const api::ClusterQueue& queue, const Cell& cell, const api::ResourceQuota& quota,
                  const std::vector<std::string>& field, std::vector<QuotaProblem>& problems) const;

  const Cluster& cluster_;
  std::map<std::string, std::string> parents_;  // the parents of Cohorts
  std::set<std::string> offered_;
};

}  // namespace berth::simulation

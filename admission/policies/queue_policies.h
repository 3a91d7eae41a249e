// admission/policies/queue_policies.h — the policy of each ClusterQueue (api/queue_policy.h): what
// its own annotations say, else the nearest Cohort above it.
//
// An annotation that cannot be read counts as absent: the webhooks and `berth lint` refuse it.
//
// Threads: one. Errors: none.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/queue_policy.h"
#include "api/queues.h"

namespace berth::admission {

class QueuePolicies {
 public:
  // Each change returns the names of the queues that have another policy than before the change.
  std::vector<std::string> Set(const api::ClusterQueue& queue);
  std::vector<std::string> Set(const api::Cohort& cohort);
  void RemoveClusterQueue(const std::string& name);
  std::vector<std::string> RemoveCohort(const std::string& name);

  api::QueuePolicy Of(const std::string& cluster_queue) const;
  // Whether some queue or cohort has a policy.
  bool any() const { return any_; }

 private:
  struct Node {
    std::string parent;  // a Cohort; empty: none
    api::QueuePolicy policy;
    friend bool operator==(const Node&, const Node&) = default;
  };

  // Each returns whether something changed.
  bool Put(std::map<std::string, Node>& nodes, const api::ObjectMeta& meta,
           const std::string& parent);
  bool Tell(const std::string& cluster_queue);
  std::vector<std::string> Changed();

  std::map<std::string, Node> queues_;
  std::map<std::string, Node> cohorts_;
  std::map<std::string, api::QueuePolicy> told_;  // the policies after the last change
  bool any_ = false;                              // true from the first policy on
};

}  // namespace berth::admission

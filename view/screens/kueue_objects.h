// view/screens/kueue_objects.h — the objects that `berth create` makes from flags; the flags are
// those of kueuectl.
//
// Threads: pure functions. Errors: kInvalid names the flag and shows its form.
// Source: Kueue cmd/kueuectl (create), API kueue.x-k8s.io/v1beta2.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace berth::view {

struct NewClusterQueue {
  std::string name;
  std::string cohort;
  std::string queuing_strategy = "BestEffortFIFO";
  std::vector<std::string> namespace_selector;  // "label=value"; none: every namespace
  std::string reclaim_within_cohort = "Never";
  std::string preemption_within_cluster_queue = "Never";
  // "flavor:resource=amount;resource=amount"; each flavor at most once in a flag, with the same
  // resources.
  std::vector<std::string> nominal_quota;
  std::vector<std::string> borrowing_limit;
  std::vector<std::string> lending_limit;
};
Result<nlohmann::json> BuildClusterQueue(const NewClusterQueue& flags);

nlohmann::json BuildLocalQueue(const std::string& namespace_name, const std::string& name,
                               const std::string& cluster_queue);

struct NewResourceFlavor {
  std::string name;
  std::vector<std::string> node_labels;  // "label=value"
  std::vector<std::string> node_taints;  // "key[=value]:effect"
  std::vector<std::string> tolerations;  // "key[=value][:effect]" or ":effect"
};
Result<nlohmann::json> BuildResourceFlavor(const NewResourceFlavor& flags);

}  // namespace berth::view

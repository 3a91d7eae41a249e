// simulation/lint.h — finds mistakes in the queues and jobs of manifests, before a cluster has
// them.
//
//     manifests ──▶ LintInput ──LintQueues──▶ findings, each with the field that it is about
//                   jobs      ──LintJobs────▶ those that no state of the queues admits
//
// Whether a job is ever admitted is decided by the Scheduler: each job alone in the empty cluster.
// Everything else follows from the objects. An error is a mistake in every cluster; a warning may
// be intended.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "admission/scheduler.h"
#include "api/provisioning_policy.h"
#include "api/queues.h"
#include "api/workload.h"
#include "simulation/cluster_objects.h"

namespace berth::simulation {

enum class LintSeverity : std::uint8_t { kError, kWarning };
const char* ToString(LintSeverity severity);  // "error", "warning"

struct LintFinding {
  LintSeverity severity = LintSeverity::kWarning;
  std::string rule;  // "cohort-cycle", …
  std::string kind;  // the kind of the object
  std::string name;  // includes the namespace, where the kind has one: "team-a/main"
  // The path to the field that the finding is about; numbers are places in lists.
  std::vector<std::string> field;
  std::string message;
  friend bool operator==(const LintFinding&, const LintFinding&) = default;
};

struct LintInput {
  Cluster cluster;  // the objects of the manifests, not prepared
  std::vector<api::AdmissionCheck> checks;
  std::set<std::string> parameters;  // parameters of checks: "KIND/NAME" of the objects that exist
  std::set<std::string> topologies;  // names
  // The labels of Nodes, and of the nodes that NodePools make; empty: there are none among the
  // files.
  std::vector<api::StringMap> node_labels;
  // "KIND/NAME" of objects that are present and cannot be read: there are no other findings about
  // these objects.
  std::set<std::string> unreadable;
  std::map<std::string, api::ProvisioningPolicy> policies;  // by the check that names the policy
};

// Returns the findings in the order of kinds and names.
std::vector<LintFinding> LintQueues(const LintInput& input);

struct LintJob {
  std::string kind;  // the kind of the manifest
  std::shared_ptr<const api::Workload> workload;
};

// `cluster` has been prepared (simulation/cluster_objects.h).
std::vector<LintFinding> LintJobs(const Cluster& cluster, const std::vector<LintJob>& jobs,
                                  const admission::SchedulerConfig& scheduler);

}  // namespace berth::simulation

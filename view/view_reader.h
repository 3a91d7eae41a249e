// view/view_reader.h — reads a ClusterView from the API, kind by kind. Internal to read_*.cc.
//
// Threads, errors: as Session.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "view/session.h"

namespace berth::view {

// Where an event has the times of its occurrences: as one of core/v1, or as events.k8s.io writes
// it.
inline constexpr std::array<const char*, 5> kEventTimes{
    "/lastTimestamp", "/series/lastObservedTime", "/eventTime", "/firstTimestamp",
    "/metadata/creationTimestamp"};

enum class ViewKind {
  kClusterQueues,
  kCohorts,
  kFlavors,
  kAdmissionChecks,
  kLocalQueues,
  kWorkloads,
  kJobs,
  kProvisioningRequests,
  kNodePools,
  kNodes,
  kPods,
  kProvisioningConfigs,
  kProvisioningPolicies,
  kNamespaces,
  kPriorityClasses,  // WorkloadPriorityClasses
  kStock,            // ConfigMaps with the label berth.dev/stock: name the label in the query
  kMeters,           // ConfigMaps with the label berth.dev/spend
  kKarpenterPools,   // recorded as hidden only if a check is responsible for pending pods
  kTopologies,
  kTopologyNodes,  // nodes as the scheduler knows them
  kTopologyPods,   // the pods on nodes that no queue admits
  kRefusedPods,    // events of pods that could not be made: name the reason in the query
};

// "workloads": the plural in the API and in messages.
const char* PluralOf(ViewKind kind);
bool IsNamespaced(ViewKind kind);

// One request: a list, or one object if `name` is set.
struct Want {
  ViewKind kind = ViewKind::kWorkloads;
  std::string namespace_name;  // set for a namespaced kind; empty: all namespaces
  std::string name;            // empty: a list
  std::string query;           // "labelSelector=…" of a list
};

enum class Got { kRead, kForbidden, kNotFound };

// Adds the answers to `view`, requested in parallel. One result per want; other failures: Result.
Result<std::vector<Got>> ReadInto(Session& session, const std::vector<Want>& wants,
                                  ClusterView& view);

// Requested in parallel, as ReadInto; each answer in a view of its own, each failure for itself.
std::vector<Result<ClusterView>> ReadApart(Session& session, const std::vector<Want>& wants);

// Adds the pods; one that the view has is replaced.
void AddPods(std::vector<PodView> pods, ClusterView& view);

// Appends the name unless `names` has it.
void AddOnce(std::vector<std::string>& names, const std::string& name);

// ReadInto for lists. A kind that the caller may not list in all namespaces is read in
// `own_namespace` (empty: not tried) and recorded as narrowed. A kind that may not be listed there
// either is recorded as hidden; a kind that the cluster lacks is recorded as missing. kForbidden:
// nothing may be read.
Status ReadLists(Session& session, const std::vector<Want>& wants, const std::string& own_namespace,
                 ClusterView& view);

// Adds the objects that a waiting Workload may wait for: NodePools and their nodes, flavors,
// checks.
Status ReadWaitedFor(Session& session, const api::Workload& workload, ClusterView& view);

// Adds the turns of workloads that wait in queues with an order of their own: by the policy of the
// queue or of a Cohort above, or by admission fair sharing. The scheduler reports them (visibility
// API). A queue whose order is not reported becomes one of `queues_without_turns`.
Status ReadTurns(Session& session, ClusterView& view);

// Adds the events of pods that could not be made. A caller who may not list events, and a cluster
// without them, leave the view as it is. `namespace_name`: empty: all, else `own_namespace`.
Status ReadRefusedPods(Session& session, const std::string& namespace_name,
                       const std::string& own_namespace, ClusterView& view);

// Adds an object of a file, such as an item of `kubectl get -o json`, of the versions that the API
// is asked for. Objects of other kinds and versions are left out.
Status AddObject(const nlohmann::json& object, ClusterView& view);

// Counts the nodes that have joined each pool.
void CountNodes(ClusterView& view);

}  // namespace berth::view

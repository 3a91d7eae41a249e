// Reads the view of `berth status` and `berth list`: one list per kind that the screen needs.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "base/rfc3339.h"
#include "view/screens/pods_of_job.h"
#include "view/view_reader.h"

namespace berth::view {
namespace {

// spec.nodeName!=
constexpr char kPodsOnNodes[] = "fieldSelector=spec.nodeName%21%3D";

Want PodsOfJobs(const std::string& namespace_name) {
  return {.kind = ViewKind::kPods,
          .namespace_name = namespace_name,
          .query = std::string("labelSelector=") + api::kJobNameLabel};
}

// In the controller's namespace, which the caller need not name.
Want Memories(ViewKind kind, const char* label) {
  return {.kind = kind, .query = std::string("labelSelector=") + label};
}

std::vector<Want> WantsOfCapacity(const ReadScope& scope) {
  std::vector<Want> wants;
  for (const ViewKind kind :
       {ViewKind::kWorkloads, ViewKind::kProvisioningRequests, ViewKind::kNodePools,
        ViewKind::kAdmissionChecks, ViewKind::kKarpenterPools}) {
    wants.push_back({.kind = kind, .namespace_name = scope.namespace_name});
  }
  wants.push_back(Memories(ViewKind::kStock, api::kStockLabel));
  wants.push_back(Memories(ViewKind::kMeters, api::kSpendLabel));
  return wants;
}

// Requests of all namespaces wait for the same machines.
std::vector<Want> WantsOfPlan() {
  std::vector<Want> wants;
  for (const ViewKind kind :
       {ViewKind::kClusterQueues, ViewKind::kLocalQueues, ViewKind::kFlavors,
        ViewKind::kAdmissionChecks, ViewKind::kProvisioningConfigs, ViewKind::kProvisioningPolicies,
        ViewKind::kWorkloads, ViewKind::kProvisioningRequests}) {
    wants.push_back({.kind = kind});
  }
  wants.push_back(Memories(ViewKind::kStock, api::kStockLabel));
  wants.push_back(Memories(ViewKind::kMeters, api::kSpendLabel));
  return wants;
}

std::vector<Want> WantsOfQueues() {
  std::vector<Want> wants;
  for (const ViewKind kind :
       {ViewKind::kClusterQueues, ViewKind::kCohorts, ViewKind::kLocalQueues, ViewKind::kFlavors,
        ViewKind::kNamespaces, ViewKind::kPriorityClasses}) {
    wants.push_back({.kind = kind});
  }
  return wants;
}

// Jobs declare how long they run.
std::vector<Want> WantsOfForecast(const ReadScope& scope) {
  std::vector<Want> wants = WantsOfPlan();
  for (const ViewKind kind :
       {ViewKind::kCohorts, ViewKind::kNamespaces, ViewKind::kPriorityClasses, ViewKind::kJobs}) {
    wants.push_back({.kind = kind});
  }
  if (scope.pods) wants.push_back({.kind = ViewKind::kPods, .query = kPodsOnNodes});
  return wants;
}

// Workloads carry the forecasts of the controller.
std::vector<Want> WantsOfNotes(const ReadScope& scope) {
  std::vector<Want> wants;
  for (const ViewKind kind : {ViewKind::kWorkloads, ViewKind::kLocalQueues}) {
    wants.push_back({.kind = kind, .namespace_name = scope.namespace_name});
  }
  return wants;
}

// Those of other namespaces, where the notes are of one.
std::vector<Want> WantsBesideNotes(const ReadScope& scope) {
  std::vector<Want> wants = WantsOfForecast(scope);
  const auto is_noted = [](const Want& want) {
    return want.kind == ViewKind::kWorkloads || want.kind == ViewKind::kLocalQueues;
  };
  if (scope.namespace_name.empty()) {
    std::erase_if(wants, is_noted);
    return wants;
  }
  for (Want& want : wants) {
    if (is_noted(want))
      want.query = "fieldSelector=metadata.namespace%21%3D" + scope.namespace_name;
  }
  return wants;
}

std::vector<Want> WantsOf(const ReadScope& scope) {
  if (scope.screen == ReadScope::Screen::kCapacity) return WantsOfCapacity(scope);
  if (scope.screen == ReadScope::Screen::kPlan) return WantsOfPlan();
  if (scope.screen == ReadScope::Screen::kQueues) return WantsOfQueues();
  if (scope.screen == ReadScope::Screen::kForecast) return WantsOfForecast(scope);
  if (scope.screen == ReadScope::Screen::kNotes) return WantsOfNotes(scope);
  std::vector<ViewKind> kinds{ViewKind::kClusterQueues, ViewKind::kLocalQueues,
                              ViewKind::kWorkloads, ViewKind::kProvisioningRequests,
                              ViewKind::kNodePools};
  if (scope.screen == ReadScope::Screen::kStatus) kinds.push_back(ViewKind::kCohorts);
  if (scope.jobs) kinds.push_back(ViewKind::kJobs);
  if (scope.cost) {
    for (const ViewKind kind : {ViewKind::kFlavors, ViewKind::kAdmissionChecks,
                                ViewKind::kProvisioningConfigs, ViewKind::kProvisioningPolicies}) {
      kinds.push_back(kind);
    }
  }
  std::vector<Want> wants;
  for (const ViewKind kind : kinds) {
    wants.push_back({.kind = kind, .namespace_name = scope.namespace_name});
  }
  if (scope.cost) wants.push_back(Memories(ViewKind::kMeters, api::kSpendLabel));
  if (scope.screen == ReadScope::Screen::kList) wants.push_back(PodsOfJobs(scope.namespace_name));
  return wants;
}

// Nodes, the largest lists beside pods, are read only if there are pools; `berth list` reads pods.
Status ReadPools(Session& session, const ReadScope& scope, ClusterView& view) {
  if (view.node_pools.empty()) return OkStatus();
  std::vector<Want> wants{{.kind = ViewKind::kNodes}};
  if (scope.screen != ReadScope::Screen::kList) wants.push_back(PodsOfJobs(scope.namespace_name));
  BERTH_CHECK_OK(ReadLists(session, wants, scope.own_namespace, view));
  CountNodes(view);
  return OkStatus();
}

// The pods of running jobs of kinds other than Job, whose pods have no label of a Job.
Status ReadOtherPods(Session& session, const ReadScope& scope, ClusterView& view) {
  if (scope.screen != ReadScope::Screen::kList) return OkStatus();
  std::set<std::string> keys;
  for (const api::Workload& each : view.workloads) {
    if (!IsRunning(each)) continue;
    const PodMarks marks = PodMarksOf(each);
    if (!marks.pod_name.empty() || !marks.group.empty()) keys.insert(api::kManagedLabel);
    if (!marks.labels.empty()) keys.insert(marks.labels.begin()->first);
  }
  keys.erase(api::kJobNameLabel);
  std::vector<Want> wants;
  for (const std::string& key : keys) {
    wants.push_back({.kind = ViewKind::kPods,
                     .namespace_name = scope.namespace_name,
                     .query = "labelSelector=" + key});
  }
  ClusterView others;
  BERTH_CHECK_OK(ReadLists(session, wants, scope.own_namespace, others));
  AddPods(std::move(others.pods), view);
  return OkStatus();
}

// The events of refused pods, and where there are such the pods that were made.
Status ReadRefusals(Session& session, const ReadScope& scope, ClusterView& view) {
  if (scope.screen != ReadScope::Screen::kStatus && scope.screen != ReadScope::Screen::kList) {
    return OkStatus();
  }
  if (std::none_of(view.workloads.begin(), view.workloads.end(), IsRunning)) return OkStatus();
  BERTH_CHECK_OK(ReadRefusedPods(session, scope.namespace_name, scope.own_namespace, view));
  if (view.refused_pods.empty()) return OkStatus();
  view.pods.clear();
  return ReadLists(session, {{.kind = ViewKind::kPods, .namespace_name = scope.namespace_name}},
                   scope.own_namespace, view);
}

// Topologies, and what is on nodes, where forecasts need them: large lists beside Workloads.
Status ReadTopologies(Session& session, const ReadScope& scope, ClusterView& view) {
  const bool named =
      std::any_of(view.flavors.begin(), view.flavors.end(),
                  [](const api::ResourceFlavor& each) { return !each.topology_name.empty(); });
  if (scope.screen != ReadScope::Screen::kForecast || !named) return OkStatus();
  const std::vector<Want> wants{{.kind = ViewKind::kTopologies},
                                {.kind = ViewKind::kTopologyNodes},
                                {.kind = ViewKind::kTopologyPods, .query = kPodsOnNodes}};
  return ReadLists(session, wants, scope.own_namespace, view);
}

// The age of the cluster ("age 3d"): that of the namespace default; nullopt if the caller may not
// read it.
std::optional<WallTime> ReadAge(Session& session) {
  const auto answer = session.GetAll({"/api/v1/namespaces/default"}).front();
  if (!answer) return std::nullopt;
  const nlohmann::json::json_pointer path("/metadata/creationTimestamp");
  if (!answer->contains(path) || !answer->at(path).is_string()) return std::nullopt;
  return ParseTime(answer->at(path).get<std::string>());
}

}  // namespace

Status CheckIsQueueing(Session& session, const ClusterView& view) {
  const auto is_missing = [&view](const char* kind) {
    return std::find(view.missing.begin(), view.missing.end(), kind) != view.missing.end();
  };
  if (is_missing("clusterqueues") || is_missing("workloads") || is_missing("localqueues")) {
    return Error{ErrorCode::kNotFound,
                 "the cluster at " + session.server_url() +
                     " has no kinds of Kueue: install the kinds with kubectl apply --server-side "
                     "-k manifests/crds"};
  }
  if (IsKnown(view, "workloads") || IsKnown(view, "localqueues")) return OkStatus();
  return Error{ErrorCode::kForbidden,
               "no right to list workloads or localqueues at " + session.server_url() +
                   ": name a namespace of yours with -n, or ask for the role "
                   "kueue-batch-user-role there"};
}

Result<ClusterView> ReadCluster(Session& session, const ReadScope& scope, WallTime now) {
  ClusterView view;
  view.now = now;
  view.cluster_name = session.cluster_name();
  view.namespace_name = scope.namespace_name;
  BERTH_CHECK_OK(ReadLists(session, WantsOf(scope), scope.own_namespace, view));
  BERTH_CHECK_OK(CheckIsQueueing(session, view));
  BERTH_CHECK_OK(ReadPools(session, scope, view));
  BERTH_CHECK_OK(ReadOtherPods(session, scope, view));
  BERTH_CHECK_OK(ReadRefusals(session, scope, view));
  BERTH_CHECK_OK(ReadTopologies(session, scope, view));
  if (scope.screen == ReadScope::Screen::kStatus || scope.screen == ReadScope::Screen::kList) {
    BERTH_CHECK_OK(ReadTurns(session, view));
  }
  if (scope.screen == ReadScope::Screen::kStatus) view.cluster_since = ReadAge(session);
  return view;
}

Status ReadForecastRest(Session& session, const ReadScope& scope, ClusterView& view) {
  if (!scope.namespace_name.empty()) view.namespace_name.clear();
  BERTH_CHECK_OK(ReadLists(session, WantsBesideNotes(scope), scope.own_namespace, view));
  return ReadTopologies(session, scope, view);
}

}  // namespace berth::view

// What `berth status` and `berth list` show: one list a kind, all at once.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "base/rfc3339.h"
#include "cli/view_reader.h"

namespace berth::cli {
namespace {

std::vector<Want> Everything(const std::string& namespace_name) {
  std::vector<Want> wants;
  for (const ViewKind kind :
       {ViewKind::kClusterQueues, ViewKind::kCohorts, ViewKind::kFlavors,
        ViewKind::kAdmissionChecks, ViewKind::kLocalQueues, ViewKind::kWorkloads, ViewKind::kJobs,
        ViewKind::kProvisioningRequests, ViewKind::kNodePools, ViewKind::kNodes}) {
    wants.push_back({.kind = kind, .namespace_name = namespace_name});
  }
  wants.push_back({.kind = ViewKind::kPods,
                   .namespace_name = namespace_name,
                   .query = std::string("labelSelector=") + api::kJobNameLabel});
  return wants;
}

// "ready 3d" says since when the cluster is there; who may not see it does without.
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
  BERTH_CHECK_OK(ReadLists(session, Everything(scope.namespace_name), scope.own_namespace, view));
  BERTH_CHECK_OK(CheckIsQueueing(session, view));
  view.cluster_since = ReadAge(session);
  CountNodes(view);
  return view;
}

}  // namespace berth::cli

#include "cli/played_cluster.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checks/check_kinds.h"
#include "local/cloud/node_pool.h"
#include "view/screens/json_at.h"

namespace berth::cli {
namespace {

using Json = nlohmann::json;

struct PlayedKind {
  std::string version;
  const char* kind;
  const char* plural;
};

constexpr char kKueue[] = "kueue.x-k8s.io/v1beta2";

// Kinds that a played cluster begins with.
std::vector<PlayedKind> PlayedKinds() {
  std::vector<PlayedKind> kinds{
      {"v1", "Namespace", "namespaces"},
      {kKueue, "ResourceFlavor", "resourceflavors"},
      {kKueue, "Cohort", "cohorts"},
      {kKueue, "ClusterQueue", "clusterqueues"},
      {kKueue, "LocalQueue", "localqueues"},
      {kKueue, "WorkloadPriorityClass", "workloadpriorityclasses"},
      {kKueue, "AdmissionCheck", "admissionchecks"},
  };
  for (const checks::CheckKind& check : checks::CheckKinds()) {
    for (const checks::ParametersKind& each : check.parameters_kinds) {
      kinds.push_back({std::string(each.group) + "/" + each.version, each.kind, each.plural});
    }
  }
  for (const PlayedKind& kind :
       {PlayedKind{"provisioning.berth.dev/v1alpha1", "ProvisioningPolicy", "provisioningpolicies"},
        PlayedKind{kKueue, "Topology", "topologies"}, PlayedKind{"v1", "Node", "nodes"},
        PlayedKind{"cloud.berth.dev/v1alpha1", "NodePool", "nodepools"}}) {
    kinds.push_back(kind);
  }
  return kinds;
}

std::string PathOf(const PlayedKind& kind) {
  return (kind.version == "v1" ? "/api/" : "/apis/") + kind.version + "/" + kind.plural;
}

void AddObject(const Json& object, PlayedCluster& cluster) {
  if (!object.is_object()) return;
  const auto items = object.find("items");
  if (items != object.end() && items->is_array()) {
    for (const Json& item : *items) {
      // A list of lists is none of Kubernetes'.
      if (item.is_object() && !item.contains("items")) AddObject(item, cluster);
    }
    return;
  }
  if (object.contains(Json::json_pointer("/metadata/deletionTimestamp"))) return;
  const std::string kind = view::TextAt(object, "/kind");
  const bool is_machine = kind == "Node" || kind == "Topology";
  (kind == "NodePool" ? cluster.node_pools
   : is_machine       ? cluster.machines
                      : cluster.queues)
      .push_back(object);
}

void DropNodesOfPools(PlayedCluster& cluster) {
  std::set<std::string> pools;
  for (const Json& pool : cluster.node_pools) pools.insert(view::TextAt(pool, "/metadata/name"));
  std::erase_if(cluster.machines, [&pools](const Json& object) {
    return view::TextAt(object, "/kind") == "Node" && pools.contains(local::cloud::PoolOf(object));
  });
}

}  // namespace

PlayedCluster SplitPlayed(const std::vector<Json>& documents) {
  PlayedCluster cluster;
  for (const Json& document : documents) AddObject(document, cluster);
  DropNodesOfPools(cluster);
  return cluster;
}

Result<PlayedCluster> ReadPlayedCluster(view::Session& session) {
  const std::vector<PlayedKind> kinds = PlayedKinds();
  std::vector<std::string> paths;
  for (const PlayedKind& kind : kinds) paths.push_back(PathOf(kind));
  std::vector<Result<Json>> answers = session.GetAll(paths);
  std::vector<Json> lists;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const PlayedKind& kind = kinds[i];
    if (!answers[i] && answers[i].error().code == ErrorCode::kNotFound) continue;
    if (!answers[i] && answers[i].error().code == ErrorCode::kForbidden) {
      return Error{ErrorCode::kForbidden, std::string("no right to list ") + kind.plural + " at " +
                                              session.server_url() + ": simulate from manifests"};
    }
    BERTH_TRY(Json list, std::move(answers[i]));
    // The items of a list have neither kind nor version.
    for (Json& item : list["items"]) {
      item["apiVersion"] = kind.version;
      item["kind"] = kind.kind;
    }
    lists.push_back(std::move(list));
  }
  return SplitPlayed(lists);
}

}  // namespace berth::cli

#include "local/cloud/gang_fit.h"

#include <algorithm>

#include "api/first_fit.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/scheduler/node_choice.h"
#include "local/cluster/scheduler/pod_node_match.h"
#include "local/cluster/scheduler/pod_resources.h"

namespace berth::local::cloud {
namespace {

Json WithQueuedToleration(Json spec) {
  Json& tolerations = spec["tolerations"];
  if (!tolerations.is_array()) tolerations = Json::array();
  tolerations.push_back({{"key", "cloud.google.com/gke-queued"}, {"operator", "Exists"}});
  if (spec.contains("nodeSelector") && spec["nodeSelector"].is_object()) {
    spec["nodeSelector"].erase(kRequestLabel);
  }
  return spec;
}

std::vector<std::string> FittingZones(const NodePool& pool, const std::vector<Json>& specs) {
  std::vector<std::string> zones;
  for (const std::string& zone : pool.zones) {
    const Json node = MakeExampleNode(pool, zone);
    const Json& taints = cluster::ArrayAt(node, {"spec", "taints"});
    const bool takes_all = std::all_of(specs.begin(), specs.end(), [&](const Json& spec) {
      return cluster::MatchesNodeSelection(spec, node) && cluster::ToleratesTaints(spec, taints);
    });
    if (takes_all) zones.push_back(zone);
  }
  return zones;
}

}  // namespace

GangFit FitGang(const NodePool& pool, const std::vector<GangMember>& members) {
  if (pool.machine == nullptr) return NotMeantForPool{};
  std::vector<Json> specs;
  for (const GangMember& member : members) {
    specs.push_back(pool.is_queued ? WithQueuedToleration(member.pod_spec) : member.pod_spec);
  }
  const std::vector<std::string> zones = FittingZones(pool, specs);
  if (zones.empty()) return NotMeantForPool{};
  const api::ResourceAmounts empty =
      cluster::MakeRoom(std::make_shared<const Json>(MakeExampleNode(pool, zones.front())))
          .allocatable;
  std::vector<api::Demand> demands;
  for (std::size_t at = 0; at < members.size(); ++at) {
    api::Demand demand{cluster::PodFootprint({{"spec", specs[at]}}), members[at].count};
    for (const auto& [resource, amount] : demand.pod) {
      const auto has = empty.find(resource);
      if (amount > (has == empty.end() ? 0 : has->second)) return TooLargeForNode{resource};
    }
    demands.push_back(std::move(demand));
  }
  const auto pods = api::FirstFit({.another = empty, .most = pool.max_nodes}, demands);
  return FitsOn{pods ? static_cast<std::int64_t>(pods->size()) : pool.max_nodes + 1, zones};
}

}  // namespace berth::local::cloud

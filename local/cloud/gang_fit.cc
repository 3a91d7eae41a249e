#include "local/cloud/gang_fit.h"

#include <algorithm>

#include "local/cluster/fields.h"
#include "local/cluster/node_choice.h"
#include "local/cluster/node_match.h"
#include "local/cluster/pod_resources.h"

namespace berth::local::cloud {
namespace {

struct Demand {
  api::ResourceAmounts amounts;
  std::int64_t count = 0;
  std::int64_t share = 0;  // of an empty node's scarcest resource, in millionths
};

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

bool Take(api::ResourceAmounts& free, const api::ResourceAmounts& amounts) {
  for (const auto& [resource, amount] : amounts) {
    if (amount > free[resource]) return false;
  }
  cluster::TakeFrom(free, amounts);
  return true;
}

std::int64_t CountNodes(const api::ResourceAmounts& empty, const std::vector<Demand>& demands,
                        std::int64_t most) {
  std::vector<api::ResourceAmounts> nodes;
  for (const Demand& demand : demands) {
    std::size_t first = 0;  // an equal pod never fits before the last one's node
    for (std::int64_t pod = 0; pod < demand.count; ++pod) {
      while (first < nodes.size() && !Take(nodes[first], demand.amounts)) ++first;
      if (first < nodes.size()) continue;
      if (static_cast<std::int64_t>(nodes.size()) >= most) return most + 1;
      nodes.push_back(empty);
      Take(nodes.back(), demand.amounts);
    }
  }
  return static_cast<std::int64_t>(nodes.size());
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
  std::vector<Demand> demands;
  for (std::size_t at = 0; at < members.size(); ++at) {
    Demand demand{cluster::PodFootprint({{"spec", specs[at]}}), members[at].count, 0};
    for (const auto& [resource, amount] : demand.amounts) {
      const auto has = empty.find(resource);
      const api::Amount offered = has == empty.end() ? 0 : has->second;
      if (amount > offered) return TooLargeForNode{resource};
      if (offered == 0) continue;
      demand.share = std::max(demand.share, api::MultiplyAmounts(amount, 1000) /
                                                std::max<api::Amount>(offered / 1000, 1));
    }
    demands.push_back(std::move(demand));
  }
  std::stable_sort(demands.begin(), demands.end(),
                   [](const Demand& a, const Demand& b) { return a.share > b.share; });
  return FitsOn{CountNodes(empty, demands, pool.max_nodes), zones};
}

}  // namespace berth::local::cloud

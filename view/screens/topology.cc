#include "view/screens/topology.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "api/pool_of_node.h"
#include "api/reasons.h"
#include "api/topology_annotations.h"
#include "base/rfc3339.h"
#include "view/screens/cluster_view.h"
#include "view/screens/reason.h"
#include "view/screens/text.h"

namespace berth::view {
namespace {

using Json = nlohmann::json;
using Domain = std::vector<std::string>;

constexpr std::size_t kMostDomains = 5;  // the most domains of a gang

struct Occupant {
  std::string id;    // names a Workload; empty: none that is known
  std::string name;  // namespace/name of the job, or of the pod
  auto operator<=>(const Occupant&) const = default;
};

struct Place {
  const api::Node* node = nullptr;
  std::size_t topology = 0;  // index; that of all topologies: in none
  Domain domain;             // a value for each level
  bool ready = false;
  api::ResourceAmounts used;
  std::map<Occupant, int> occupants;  // pods
  std::set<std::string> others;       // jobs that the reader may not name

  bool takes_pods() const { return ready && !node->unschedulable; }
  api::Amount FreeOf(const std::string& resource) const {
    const auto all = node->allocatable.find(resource);
    if (all == node->allocatable.end()) return 0;
    const auto taken = used.find(resource);
    return std::max<api::Amount>(all->second - (taken == used.end() ? 0 : taken->second), 0);
  }
  bool is_whole() const { return occupants.empty() && others.empty(); }
};

bool IsReady(const api::Node& node) { return api::IsTrue(node.conditions, "Ready"); }

std::optional<Domain> DomainOf(const api::Node& node, const api::Topology& topology) {
  Domain domain;
  for (const std::string& level : topology.levels) {
    const std::string* value = api::FindValue(node.meta.labels, level);
    if (value == nullptr) return std::nullopt;
    domain.push_back(*value);
  }
  return domain;
}

// Resources whose free amount says something: machines are bought for them.
bool IsCounted(const std::string& resource) {
  return resource != "memory" && resource != "pods" && resource != "ephemeral-storage" &&
         resource.rfind("hugepages-", 0) != 0;
}

class Floor {
 public:
  explicit Floor(const TopologyInput& input) : input_(input) {
    for (const auto& each : input.nodes) {
      const api::Node& node = *each;
      Place place{.node = &node, .topology = input.topologies.size(), .ready = IsReady(node)};
      for (std::size_t i = 0; i < input.topologies.size(); ++i) {
        if (auto domain = DomainOf(node, input.topologies[i])) {
          place.topology = i;
          place.domain = *std::move(domain);
          break;
        }
      }
      Place& kept = places_[node.meta.name] = std::move(place);
      const std::string* hostname = api::FindValue(node.meta.labels, api::kHostnameLabel);
      if (hostname != nullptr) by_hostname_[*hostname].push_back(&kept);
    }
    for (const auto& workload : input.workloads) {
      if (const api::OwnerReference* owner = api::ControllerOf(workload->meta)) {
        if (IsFinished(*workload)) continue;
        by_owner_[{workload->meta.namespace_name, owner->name}] = workload.get();
      }
    }
    for (const auto& pod : input.pods) AddPod(*pod);
    if (!input.has_all_pods) {
      for (const auto& workload : input.workloads) AddAssigned(*workload);
    }
  }

  Json Nodes() const {
    Json nodes = Json::array();
    for (const auto& [name, place] : places_) {
      if (nodes.size() == kMostTopologyNodes) break;
      nodes.push_back(NodeOf(place));
    }
    return nodes;
  }

  Json Topologies() const {
    Json list = Json::array();
    for (std::size_t i = 0; i <= input_.topologies.size(); ++i) {
      const bool is_none = i == input_.topologies.size();
      Json free = FreeIn(i);
      if (is_none && free.empty()) continue;
      list.push_back(
          {{"name", is_none ? Json() : Json(input_.topologies[i].meta.name)},
           {"levels", is_none ? std::vector<std::string>() : input_.topologies[i].levels},
           {"free", std::move(free)}});
    }
    return list;
  }

  // `left_out`: gangs above kMostGangs.
  Json Gangs(std::size_t& left_out) const {
    std::vector<const api::Workload*> waiting;
    for (const auto& workload : input_.workloads) {
      if (IsWaiting(*workload) && !workload->status.admission &&
          input_.may_name(workload->meta.namespace_name)) {
        waiting.push_back(workload.get());
      }
    }
    std::sort(waiting.begin(), waiting.end(), [](const auto* a, const auto* b) {
      return std::pair(WaitingSince(*a), a->meta.key()) <
             std::pair(WaitingSince(*b), b->meta.key());
    });
    Json gangs = Json::array();
    for (const api::Workload* workload : waiting) {
      for (const api::PodSet& pods : workload->spec.pod_sets) {
        if (pods.count <= 1 && !api::AsksForTopology(pods)) continue;
        if (gangs.size() < kMostGangs) {
          gangs.push_back(GangOf(*workload, pods));
        } else {
          ++left_out;
        }
      }
    }
    return gangs;
  }

 private:
  void AddPod(const api::Pod& pod) {
    const auto found = places_.find(pod.spec.node_name);
    if (found == places_.end() || pod.phase == "Succeeded" || pod.phase == "Failed") return;
    Place& place = found->second;
    for (const auto& [resource, amount] : api::PodRequests(pod.spec)) {
      place.used[resource] = api::AddAmounts(place.used[resource], amount);
    }
    const std::string& space = pod.meta.namespace_name;
    const api::OwnerReference* owner = api::ControllerOf(pod.meta);
    if (api::IsDaemon(pod)) return;
    const std::string name = owner == nullptr ? pod.meta.name : owner->name;
    if (!input_.may_name(space)) {
      place.others.insert(space + "/" + name);
      return;
    }
    const auto workload = by_owner_.find({space, name});
    const std::string id =
        workload == by_owner_.end() ? "" : workload->second->meta.key().ToString();
    ++place.occupants[{id, space + "/" + name}];
  }

  // Sums of the pods that a topology has assigned; those that were seen as pods count once.
  void AddAssigned(const api::Workload& workload) {
    if (!workload.status.admission || IsFinished(workload)) return;
    const bool is_named = input_.may_name(workload.meta.namespace_name);
    if (is_named && !input_.pods.empty()) return;
    for (const auto& assigned : workload.status.admission->pod_set_assignments) {
      if (!assigned.topology_assignment || assigned.count <= 0) continue;
      const auto& levels = assigned.topology_assignment->levels;
      if (levels.empty() || levels.back() != api::kHostnameLabel) continue;
      for (const auto& domain : assigned.topology_assignment->domains) {
        const auto hosts = by_hostname_.find(domain.values.empty() ? "" : domain.values.back());
        if (hosts == by_hostname_.end()) continue;
        // The assignment does not say which of the nodes has the pods: they share them evenly.
        auto left = static_cast<std::int32_t>(hosts->second.size());
        std::int32_t pods = domain.count;
        for (Place* place : hosts->second) {
          const std::int32_t here = (pods + left - 1) / left;
          if (here > 0) AddAssigned(workload, is_named, assigned, here, *place);
          pods -= here;
          --left;
        }
      }
    }
  }

  static void AddAssigned(const api::Workload& workload, bool is_named,
                          const api::PodSetAssignment& assigned, std::int32_t pods, Place& place) {
    for (const auto& [resource, amount] : assigned.resource_usage) {
      const api::Amount part = amount / assigned.count * pods;
      place.used[resource] = api::AddAmounts(place.used[resource], part);
    }
    if (is_named) {
      place.occupants[{workload.meta.key().ToString(), DisplayName(workload)}] += pods;
    } else {
      place.others.insert(workload.meta.key().ToString());
    }
  }

  Json NodeOf(const Place& place) const {
    Json resources = Json::array();
    for (const auto& [resource, amount] : place.node->allocatable) {
      const auto used = place.used.find(resource);
      resources.push_back({{"resource", resource},
                           {"unit", UnitOf(resource)},
                           {"allocatable", amount},
                           {"used", used == place.used.end() ? 0 : used->second}});
    }
    Json workloads = Json::array();
    for (const auto& [who, pods] : place.occupants) {
      workloads.push_back(
          {{"id", who.id.empty() ? Json() : Json(who.id)}, {"name", who.name}, {"pods", pods}});
    }
    const std::string* pool = api::FindValue(place.node->meta.labels, api::kGkeNodePoolLabel);
    const bool is_in_one = place.topology < input_.topologies.size();
    return {{"name", place.node->meta.name},
            {"ready", place.ready},
            {"schedulable", !place.node->unschedulable},
            {"pool", pool == nullptr ? "" : *pool},
            {"topology", is_in_one ? Json(input_.topologies[place.topology].meta.name) : Json()},
            {"domain", place.domain},
            {"resources", std::move(resources)},
            {"workloads", std::move(workloads)},
            {"others", place.others.size()}};
  }

  // What is free on the nodes of a topology, all together and in one domain.
  Json FreeIn(std::size_t topology) const {
    std::set<std::string> resources;
    for (const auto& [name, place] : places_) {
      if (place.topology != topology) continue;
      for (const auto& [resource, amount] : place.node->allocatable) {
        if (IsCounted(resource)) resources.insert(resource);
      }
    }
    Json list = Json::array();
    for (const std::string& resource : resources) list.push_back(FreeOf(topology, resource));
    return list;
  }

  Json FreeOf(std::size_t topology, const std::string& resource) const {
    const bool is_none = topology == input_.topologies.size();
    const std::size_t levels = is_none ? 0 : input_.topologies[topology].levels.size();
    api::Amount free = 0;
    api::Amount on_whole = 0;
    std::vector<std::map<Domain, api::Amount>> by_level(levels);
    for (const auto& [name, place] : places_) {
      if (place.topology != topology || !place.takes_pods()) continue;
      const api::Amount here = place.FreeOf(resource);
      free = api::AddAmounts(free, here);
      if (place.is_whole()) on_whole = api::AddAmounts(on_whole, here);
      for (std::size_t level = 0; level < levels; ++level) {
        const auto end = place.domain.begin() + static_cast<std::ptrdiff_t>(level) + 1;
        api::Amount& sum = by_level[level][Domain(place.domain.begin(), end)];
        sum = api::AddAmounts(sum, here);
      }
    }
    Json largest = Json::array();
    for (std::size_t level = 0; level < levels; ++level) {
      api::Amount most = 0;
      for (const auto& [domain, amount] : by_level[level]) most = std::max(most, amount);
      largest.push_back({{"level", input_.topologies[topology].levels[level]}, {"amount", most}});
    }
    return {{"resource", resource},
            {"unit", UnitOf(resource)},
            {"free", free},
            {"onWholeNodes", on_whole},
            {"largest", std::move(largest)}};
  }

  // Pods that a node has room for.
  static std::int64_t RoomFor(const Place& place, const api::PodSpec& pod,
                              const api::ResourceAmounts& requests, std::int64_t most) {
    if (!place.takes_pods()) return 0;
    for (const auto& [label, value] : pod.node_selector) {
      const std::string* has = api::FindValue(place.node->meta.labels, label);
      if (has == nullptr || *has != value) return 0;
    }
    std::int64_t room = most;
    for (const auto& [resource, amount] : requests) {
      if (amount > 0) room = std::min(room, place.FreeOf(resource) / amount);
    }
    return std::max<std::int64_t>(room, 0);
  }

  Json GangOf(const api::Workload& workload, const api::PodSet& pods) const {
    std::string level;
    const char* mode = "anywhere";
    if (pods.topology_request && pods.topology_request->required) {
      level = *pods.topology_request->required;
      mode = "required";
    } else if (pods.topology_request && pods.topology_request->preferred) {
      level = *pods.topology_request->preferred;
      mode = "preferred";
    }
    const api::ResourceAmounts requests = api::PodRequests(pods.pod_template.spec);
    std::map<std::pair<std::size_t, Domain>, std::int64_t> room;
    for (const auto& [name, place] : places_) {
      std::size_t depth = 0;  // values of the domain that the gang asks to share
      const bool is_in_one = place.topology < input_.topologies.size();
      if (!level.empty()) {
        if (!is_in_one) continue;
        const auto& levels = input_.topologies[place.topology].levels;
        const auto at = std::find(levels.begin(), levels.end(), level);
        if (at == levels.end()) continue;
        depth = static_cast<std::size_t>(at - levels.begin()) + 1;
      }
      const std::size_t group = level.empty() ? input_.topologies.size() : place.topology;
      const auto end = place.domain.begin() + static_cast<std::ptrdiff_t>(depth);
      room[{group, Domain(place.domain.begin(), end)}] +=
          RoomFor(place, pods.pod_template.spec, requests, pods.count);
    }
    std::vector<std::pair<std::int64_t, std::pair<std::size_t, Domain>>> best;
    best.reserve(room.size());
    for (const auto& [domain, fitting] : room) best.emplace_back(-fitting, domain);
    std::sort(best.begin(), best.end());
    Json domains = Json::array();
    for (const auto& [fitting, domain] : best) {
      if (domains.size() == kMostDomains) break;
      const bool is_named = domain.first < input_.topologies.size();
      domains.push_back(
          {{"topology", is_named ? Json(input_.topologies[domain.first].meta.name) : Json()},
           {"domain", domain.second},
           {"pods", std::min<std::int64_t>(-fitting, pods.count)}});
    }
    const Reason reason = WaitingReason(input_.queues, workload, {.absolute_times = true});
    return {{"id", workload.meta.key().ToString()},
            {"name", DisplayName(workload)},
            {"podSet", pods.name},
            {"pods", pods.count},
            {"level", level},
            {"mode", mode},
            {"fits", !best.empty() && -best.front().first >= pods.count},
            {"domains", std::move(domains)},
            {"cause", reason.kind},
            {"remark", reason.Line()}};
  }

  const TopologyInput& input_;
  std::map<std::string, Place> places_;  // by the name of the node
  std::map<std::string, std::vector<Place*>> by_hostname_;
  std::map<std::pair<std::string, std::string>, const api::Workload*> by_owner_;
};

}  // namespace

Json TopologyJson(const TopologyInput& input) {
  const Floor floor(input);
  const std::size_t left_out =
      input.nodes.size() > kMostTopologyNodes ? input.nodes.size() - kMostTopologyNodes : 0;
  std::size_t gangs_left_out = 0;
  Json gangs = floor.Gangs(gangs_left_out);
  return {{"time", FormatTime(input.now)},    {"hidden", input.hidden}, {"nodesLeftOut", left_out},
          {"topologies", floor.Topologies()}, {"nodes", floor.Nodes()}, {"gangs", std::move(gangs)},
          {"gangsLeftOut", gangs_left_out}};
}

}  // namespace berth::view

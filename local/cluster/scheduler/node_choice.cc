#include "local/cluster/scheduler/node_choice.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "local/cluster/objects/fields.h"
#include "local/cluster/scheduler/pod_node_match.h"
#include "local/cluster/scheduler/pod_resources.h"

namespace berth::local::cluster {
namespace {

constexpr api::Amount kDefaultPodLimit = 110;  // kubelet's default
constexpr char kPodsResource[] = "pods";

struct Refusal {
  std::vector<std::string> reasons;
  bool can_preemption_help = false;
};

api::Amount AmountOf(const api::ResourceAmounts& amounts, const std::string& resource) {
  const auto found = amounts.find(resource);
  return found == amounts.end() ? 0 : found->second;
}

const Json& UnschedulableTaint() {
  static const Json kTaints =
      Json::array({{{"key", "node.kubernetes.io/unschedulable"}, {"effect", "NoSchedule"}}});
  return kTaints;
}

// The first failing filter gives the reason, as upstream; the resource filter names all shortages.
std::optional<Refusal> Filter(const Json& spec, const api::ResourceAmounts& footprint,
                              const NodeRoom& room) {
  const Json& node = *room.node;
  const std::string wanted = StringAt(spec, {"nodeName"});
  if (!wanted.empty() && wanted != NameOf(node)) {
    return Refusal{{"node(s) didn't match the requested node name"}};
  }
  if (BoolAt(node, {"spec", "unschedulable"}) && !ToleratesTaints(spec, UnschedulableTaint())) {
    return Refusal{{"node(s) were unschedulable"}};
  }
  if (!ToleratesTaints(spec, ArrayAt(node, {"spec", "taints"}))) {
    return Refusal{{"node(s) had untolerated taint(s)"}};
  }
  if (!MatchesNodeSelection(spec, node)) {
    return Refusal{{"node(s) didn't match Pod's node affinity/selector"}};
  }
  Refusal refusal;
  refusal.can_preemption_help = true;
  for (const auto& [resource, amount] : footprint) {
    const api::Amount allocatable = AmountOf(room.allocatable, resource);
    const api::Amount free = api::SubtractAmounts(allocatable, AmountOf(room.used, resource));
    if (amount == 0 || amount <= free) continue;
    refusal.reasons.push_back(resource == kPodsResource ? "Too many pods"
                                                        : "Insufficient " + resource);
    if (amount > allocatable) refusal.can_preemption_help = false;
  }
  if (refusal.reasons.empty()) return std::nullopt;
  return refusal;
}

// The used share of the node with the pod, in thousandths; cpu and memory weigh the same.
std::int64_t TakenShare(const NodeRoom& room, const api::ResourceAmounts& footprint) {
  std::int64_t share = 0;
  for (const char* resource : {"cpu", "memory"}) {
    const api::Amount allocatable = std::max<api::Amount>(AmountOf(room.allocatable, resource), 1);
    const api::Amount taken =
        api::AddAmounts(AmountOf(room.used, resource), AmountOf(footprint, resource));
    share += api::MultiplyAmounts(taken, 1000) / allocatable;
  }
  return share;
}

std::string Histogram(const std::map<std::string, std::size_t>& count_by_reason) {
  std::vector<std::string> parts;
  for (const auto& [reason, count] : count_by_reason) {
    parts.push_back(fmt::format("{} {}", count, reason));
  }
  std::sort(parts.begin(), parts.end());
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

NodeRoom MakeRoom(Object node) {
  NodeRoom room;
  room.allocatable = AmountsOf(Find(*node, {"status", "allocatable"}));
  room.allocatable.try_emplace(kPodsResource, kDefaultPodLimit);
  room.node = std::move(node);
  return room;
}

api::ResourceAmounts PodFootprint(const Json& pod) {
  const Json* spec = Find(pod, {"spec"});
  api::ResourceAmounts footprint = spec == nullptr ? api::ResourceAmounts{} : PodRequests(*spec);
  footprint[kPodsResource] = 1;
  return footprint;
}

std::variant<ChosenNode, NoNode> ChooseNode(const Json& pod, const NodeRooms& rooms) {
  if (rooms.empty()) return NoNode{"no nodes available to schedule pods"};
  const api::ResourceAmounts footprint = PodFootprint(pod);
  std::map<std::string, std::size_t> count_by_reason;
  std::size_t helpless = 0;
  std::optional<std::tuple<std::int64_t, std::int64_t, std::string>> best;
  for (const auto& [name, room] : rooms) {
    const auto refusal = Filter(pod.at("spec"), footprint, room);
    if (!refusal) {
      const std::tuple candidate{-PreferenceFor(pod.at("spec"), *room.node),
                                 TakenShare(room, footprint), name};
      if (!best || candidate < *best) best = candidate;
      continue;
    }
    for (const std::string& reason : refusal->reasons) ++count_by_reason[reason];
    if (!refusal->can_preemption_help) ++helpless;
  }
  if (best) return ChosenNode{std::get<2>(*best)};
  std::map<std::string, std::size_t> preemption;
  if (helpless > 0) preemption["Preemption is not helpful for scheduling"] = helpless;
  if (rooms.size() > helpless) {
    preemption["No preemption victims found for incoming pod"] = rooms.size() - helpless;
  }
  return NoNode{fmt::format(
      "0/{0} nodes are available: {1}. no new claims to deallocate, preemption: 0/{0} nodes are "
      "available: {2}.",
      rooms.size(), Histogram(count_by_reason), Histogram(preemption))};
}

}  // namespace berth::local::cluster

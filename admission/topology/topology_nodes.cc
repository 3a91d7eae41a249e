// Nodes of the TopologyPlacer: the trees of each node, and its free amounts.
#include <algorithm>

#include "admission/gpu_sharing.h"
#include "admission/topology/node_filter.h"
#include "admission/topology/topology_placer.h"
#include "base/assert.h"

namespace berth::admission {
namespace {

constexpr const char* kPods = "pods";
// A tree with so many more dead leaves than live ones is rebuilt.
constexpr std::int32_t kMaxDeadLeaves = 1024;

void AddTo(std::vector<ResourceRequest>& sum, const ResourceRequest& more) {
  const auto known = std::find_if(sum.begin(), sum.end(), [&more](const ResourceRequest& item) {
    return item.resource == more.resource;
  });
  if (known == sum.end()) {
    sum.push_back(more);
  } else {
    known->amount = api::AddAmounts(known->amount, more.amount);
  }
}

void AddTo(std::vector<ResourceRequest>& sum, const std::vector<ResourceRequest>& more,
           std::int64_t times) {
  for (const ResourceRequest& item : more) {
    AddTo(sum, {item.resource, api::MultiplyAmounts(item.amount, times)});
  }
  std::erase_if(sum, [](const ResourceRequest& item) { return item.amount == 0; });
}

}  // namespace

const TopologyTree* TopologyPlacer::TreeOf(FlavorId flavor) const {
  const FlavorState* state = State(flavor);
  return state == nullptr ? nullptr : state->tree.get();
}

std::vector<ResourceRequest> TopologyPlacer::Numbers(const api::ResourceAmounts& amounts,
                                                     NamesOf names_of) const {
  queue::Names& names = vocabulary_.resources;
  std::vector<ResourceRequest> numbers;
  numbers.reserve(amounts.size() + 1);
  for (const auto& [name, amount] : amounts) {
    if (amount == 0) continue;
    numbers.push_back(
        {names_of == NamesOf::kNodes ? names.Intern(name) : names.Lend(name), amount});
  }
  return numbers;
}

std::vector<ResourceRequest> TopologyPlacer::OnePod(const api::PodSpec& spec,
                                                    NamesOf names_of) const {
  api::ResourceAmounts amounts = api::PodRequests(spec);
  amounts[kPods] = api::AddAmounts(amounts[kPods], 1);
  return Numbers(amounts, names_of);
}

void TopologyPlacer::SetFlavor(FlavorId id, const api::ResourceFlavor& object) {
  const auto slot = static_cast<std::size_t>(id);
  if (slot >= flavors_.size()) flavors_.resize(slot + 1);
  if (flavors_[slot] == nullptr) flavors_[slot] = std::make_unique<FlavorState>();
  FlavorState& state = *flavors_[slot];
  const bool same_nodes =
      state.topology == object.topology_name && state.node_labels == object.node_labels;
  if (state.tolerations != object.tolerations) {
    state.tolerations = object.tolerations;
    state.views.clear();
  }
  state.shares_per_gpu = GpuSharing(object, vocabulary_.resources).shares_per_gpu();
  if (same_nodes) return;
  DropTree(id);
  state.topology = object.topology_name;
  state.node_labels = object.node_labels;
  BuildTree(id);
}

void TopologyPlacer::RemoveFlavor(FlavorId id) {
  FlavorState* state = State(id);
  if (state == nullptr) return;
  DropTree(id);
  state->topology.clear();
  state->node_labels.clear();
}

void TopologyPlacer::SetTopology(const api::Topology& object) {
  const auto [known, added] = topologies_.try_emplace(object.meta.name, object.levels);
  if (!added && known->second == object.levels) return;
  known->second = object.levels;
  for (FlavorId id = 0; id < static_cast<FlavorId>(flavors_.size()); ++id) {
    if (State(id) == nullptr || State(id)->topology != object.meta.name) continue;
    DropTree(id);
    BuildTree(id);
  }
}

void TopologyPlacer::RemoveTopology(const std::string& name) {
  topologies_.erase(name);
  for (FlavorId id = 0; id < static_cast<FlavorId>(flavors_.size()); ++id) {
    if (State(id) != nullptr && State(id)->topology == name) DropTree(id);
  }
}

void TopologyPlacer::DropTree(FlavorId flavor) {
  FlavorState& state = *State(flavor);
  if (state.tree == nullptr) return;
  for (auto& [name, node] : nodes_) std::erase(node->flavors, flavor);
  state.views.clear();
  state.tree.reset();
  RebookHostnames();
}

void TopologyPlacer::BuildTree(FlavorId flavor) {
  FlavorState& state = *State(flavor);
  const auto levels = topologies_.find(state.topology);
  if (levels == topologies_.end() || levels->second.empty()) return;
  BERTH_ASSERT(open_marks_ == 0);
  state.views.clear();
  state.tree = std::make_unique<TopologyTree>(state.topology, levels->second);
  for (auto& [name, node] : nodes_) {
    std::erase(node->flavors, flavor);
    if (!Selects(state, *node)) continue;
    const DomainId leaf = state.tree->AddNode(node->facts);
    node->flavors.push_back(flavor);
    if (state.tree->lowest_is_hostname() || state.tree->domain(leaf).live != 1) continue;
    state.tree->SetUsed(leaf, BookedAt(flavor, LeafKey(state.tree->domain(leaf).values)));
  }
  RebookHostnames();
}

// The trees that share a node have changed: sums up its bookings again.
void TopologyPlacer::RebookHostnames() {
  for (FlavorId id = 0; id < static_cast<FlavorId>(flavors_.size()); ++id) {
    FlavorState* state = State(id);
    if (state == nullptr || !state->tree || !state->tree->lowest_is_hostname()) continue;
    for (std::int32_t leaf = 0; leaf < state->tree->leaf_count(); ++leaf) {
      const DomainId domain = state->tree->domain_of_leaf(leaf);
      if (state->tree->domain(domain).live == 0) continue;
      state->tree->SetUsed(domain, BookedAt(id, state->tree->domain(domain).values.back()));
    }
  }
}

std::vector<ResourceRequest> TopologyPlacer::BookedAt(FlavorId flavor,
                                                      const std::string& key) const {
  std::vector<ResourceRequest> sum;
  const bool shared = State(flavor)->tree->lowest_is_hostname();
  for (FlavorId id = 0; id < static_cast<FlavorId>(flavors_.size()); ++id) {
    const FlavorState* state = State(id);
    if (state == nullptr || !state->tree) continue;
    if (id != flavor && !(shared && state->tree->lowest_is_hostname())) continue;
    const auto booked = state->booked.find(key);
    if (booked != state->booked.end()) AddTo(sum, booked->second, 1);
  }
  return sum;
}

bool TopologyPlacer::Selects(const FlavorState& state, const NodeState& node) const {
  if (!node.counts) return false;
  const api::StringMap& labels = node.facts.labels;
  const bool has_labels =
      std::all_of(state.node_labels.begin(), state.node_labels.end(), [&labels](const auto& label) {
        const auto found = labels.find(label.first);
        return found != labels.end() ? found->second == label.second : label.second.empty();
      });
  return has_labels &&
         std::all_of(state.tree->levels().begin(), state.tree->levels().end(),
                     [&labels](const std::string& level) { return labels.contains(level); });
}

void TopologyPlacer::Attach(NodeState& node) {
  for (FlavorId id = 0; id < static_cast<FlavorId>(flavors_.size()); ++id) {
    FlavorState* state = State(id);
    if (state == nullptr || !state->tree || !Selects(*state, node)) continue;
    TopologyTree& tree = *state->tree;
    node.flavors.push_back(id);
    const DomainId leaf = tree.AddNode(node.facts);
    if (tree.domain(leaf).live != 1) continue;
    const std::vector<std::string>& values = tree.domain(leaf).values;
    tree.SetUsed(leaf, BookedAt(id, tree.lowest_is_hostname() ? values.back() : LeafKey(values)));
  }
}

void TopologyPlacer::Detach(NodeState& node) {
  for (const FlavorId id : node.flavors) State(id)->tree->RemoveNode(node.facts);
  node.flavors.clear();
}

std::vector<FlavorId> TopologyPlacer::SetNode(const api::Node& object) {
  BERTH_ASSERT(open_marks_ == 0);
  const std::string& name = object.meta.name;
  std::unique_ptr<NodeState>& known = nodes_[name];
  NodeState next;
  next.counts = CountsForPlacement(object);
  next.allocatable = Numbers(object.allocatable, NamesOf::kNodes);
  next.facts.name = name;
  next.facts.labels = object.meta.labels;
  for (const api::Taint& taint : object.taints) {
    if (KeepsPodsAway(taint)) next.facts.taints.push_back(taint);
  }
  next.facts.capacity = next.allocatable;
  if (const auto taken = unplanned_.find(name); taken != unplanned_.end()) {
    AddTo(next.facts.capacity, taken->second, -1);
  }
  if (known == nullptr) known = std::make_unique<NodeState>();
  if (known->counts == next.counts && known->facts == next.facts) return {};
  std::vector<FlavorId> concerned = known->flavors;
  Detach(*known);
  *known = std::move(next);
  Attach(*known);
  for (const FlavorId id : known->flavors) {
    if (std::find(concerned.begin(), concerned.end(), id) == concerned.end()) {
      concerned.push_back(id);
    }
  }
  for (const FlavorId id : concerned) {
    const TopologyTree& tree = *State(id)->tree;
    if (tree.leaf_count() > 2 * tree.live_leaf_count() + kMaxDeadLeaves) BuildTree(id);
  }
  return concerned;
}

std::vector<FlavorId> TopologyPlacer::RemoveNode(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end()) return {};
  std::vector<FlavorId> concerned = found->second->flavors;
  Detach(*found->second);
  nodes_.erase(found);
  return concerned;
}

std::vector<FlavorId> TopologyPlacer::ChangeUnplanned(const std::string& node,
                                                      const std::vector<ResourceRequest>& requests,
                                                      int sign) {
  std::vector<ResourceRequest>& sum = unplanned_[node];
  AddTo(sum, requests, sign);
  if (sum.empty()) unplanned_.erase(node);
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return {};
  NodeState& state = *found->second;
  Detach(state);
  AddTo(state.facts.capacity, requests, -sign);
  Attach(state);
  return sign < 0 ? state.flavors : std::vector<FlavorId>{};
}

std::vector<FlavorId> TopologyPlacer::SetPod(const api::Pod& object) {
  if (!UsesNodeUnplanned(object)) return RemovePod(object.meta.key());
  PodState next{object.spec.node_name, OnePod(object.spec, NamesOf::kNodes)};
  const auto known = pods_.find(object.meta.key());
  if (known != pods_.end() && known->second.node == next.node &&
      known->second.requests == next.requests) {
    return {};
  }
  std::vector<FlavorId> concerned = RemovePod(object.meta.key());
  ChangeUnplanned(next.node, next.requests, 1);
  pods_.emplace(object.meta.key(), std::move(next));
  return concerned;
}

std::vector<FlavorId> TopologyPlacer::RemovePod(const api::ObjectKey& key) {
  const auto known = pods_.find(key);
  if (known == pods_.end()) return {};
  const PodState gone = std::move(known->second);
  pods_.erase(known);
  return ChangeUnplanned(gone.node, gone.requests, -1);
}

}  // namespace berth::admission

#include "admission/topology/topology_placer.h"

#include <algorithm>

#include "admission/flavors/gpu_sharing.h"
#include "admission/topology/node_filter.h"
#include "api/labels.h"
#include "base/assert.h"

namespace berth::admission {
namespace {

// The most shapes per flavor whose counts are cached.
constexpr std::size_t kMaxViews = 32;

std::string KeyOf(const api::TopologyAssignment& assignment,
                  const api::TopologyAssignment::Domain& domain) {
  const bool hostname =
      !assignment.levels.empty() && assignment.levels.back() == api::kHostnameLabel;
  return hostname ? domain.values.back() : LeafKey(domain.values);
}

api::TopologyAssignment AssignmentOf(const TopologyTree& tree,
                                     const std::vector<PodsInDomain>& places) {
  api::TopologyAssignment assignment;
  const std::ptrdiff_t first = tree.lowest_is_hostname() ? tree.level_count() - 1 : 0;
  assignment.levels.assign(tree.levels().begin() + first, tree.levels().end());
  assignment.domains.reserve(places.size());
  for (const PodsInDomain& place : places) {
    const std::vector<std::string>& values = tree.domain(place.domain).values;
    assignment.domains.push_back({{values.begin() + first, values.end()}, place.count});
  }
  return assignment;
}

const api::PodSetAssignment* AssignedTo(const api::Workload& workload, const std::string& name) {
  if (!workload.status.admission) return nullptr;
  for (const auto& assigned : workload.status.admission->pod_set_assignments) {
    if (assigned.name == name) return &assigned;
  }
  return nullptr;
}

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

// Requests of one flavor that are placed together, with their results.
struct TopologyPlacer::Group {
  const api::Workload& workload;
  FlavorState& state;
  CountKey::Usage usage;
  std::vector<PlacementRequest> requests;
  std::vector<Placement> placements;
  std::vector<PlacedPods> assumed;  // their usage that is not booked
  std::string failure;

  const api::PodSet& PodSetOf(const PlacementRequest& request) const {
    return workload.spec.pod_sets[request.pod_set];
  }
};

std::optional<std::string> TopologyPlacer::Mismatch(const api::TopologyRequest& request,
                                                    FlavorId flavor) const {
  const std::string name = "Flavor \"" + vocabulary_.flavors[flavor] + '"';
  if (!HasTopology(flavor)) return name + " does not support TopologyAwareScheduling";
  const TopologyTree* tree = TreeOf(flavor);
  if (tree == nullptr) return name + " information missing in TAS cache";
  if (!HasLevels(tree->levels(), request)) return name + " does not contain the requested level";
  return std::nullopt;
}

template <typename Visit>
void TopologyPlacer::ForEachTree(FlavorId flavor, const std::string& key, const Visit& visit) {
  FlavorState* own = State(flavor);
  if (own == nullptr || !own->tree) return;
  if (!own->tree->lowest_is_hostname()) {
    if (const DomainId leaf = own->tree->FindLeaf(key); leaf != kNoDomain) {
      visit(flavor, *own->tree, leaf);
    }
    return;
  }
  for (FlavorId id = 0; id < static_cast<FlavorId>(flavors_.size()); ++id) {
    FlavorState* state = State(id);
    if (state == nullptr || !state->tree || !state->tree->lowest_is_hostname()) continue;
    if (const DomainId leaf = state->tree->FindLeaf(key); leaf != kNoDomain) {
      visit(id, *state->tree, leaf);
    }
  }
}

void TopologyPlacer::Book(const std::vector<PlacedPods>& placed, std::int64_t sign) {
  for (const PlacedPods& pods : placed) {
    for (const auto& [key, count] : pods.domains) {
      const std::int64_t change = sign * count;
      ForEachTree(pods.flavor, key, [&](FlavorId id, TopologyTree& tree, DomainId leaf) {
        tree.AddUsed(leaf, pods.per_pod, change);
        if (open_marks_ > 0) changes_.push_back({id, leaf, &pods.per_pod, change});
      });
      if (open_marks_ > 0) continue;
      const auto slot = static_cast<std::size_t>(pods.flavor);
      if (slot >= flavors_.size()) flavors_.resize(slot + 1);
      if (flavors_[slot] == nullptr) flavors_[slot] = std::make_unique<FlavorState>();
      auto& booked = flavors_[slot]->booked;
      std::vector<ResourceRequest>& sum = booked[key];
      for (const ResourceRequest& item : pods.per_pod) {
        const std::int64_t amount = api::MultiplyAmounts(item.amount, change);
        const auto known = std::find_if(sum.begin(), sum.end(), [&item](const auto& other) {
          return other.resource == item.resource;
        });
        if (known == sum.end()) {
          sum.push_back({item.resource, amount});
        } else {
          known->amount = api::AddAmounts(known->amount, amount);
        }
      }
      std::erase_if(sum, [](const ResourceRequest& item) { return item.amount == 0; });
      if (sum.empty()) booked.erase(key);
    }
  }
}

std::vector<FlavorId> TopologyPlacer::FlavorsAt(const std::vector<PlacedPods>& placed) {
  std::vector<FlavorId> flavors;
  for (const PlacedPods& pods : placed) {
    for (const auto& domain : pods.domains) {
      ForEachTree(pods.flavor, domain.first,
                  [&flavors](FlavorId id, TopologyTree& /*tree*/, DomainId /*leaf*/) {
                    if (std::find(flavors.begin(), flavors.end(), id) == flavors.end()) {
                      flavors.push_back(id);
                    }
                  });
    }
  }
  return flavors;
}

TopologyPlacer::Mark TopologyPlacer::Begin() {
  ++open_marks_;
  return changes_.size();
}

void TopologyPlacer::RollBack(Mark mark) {
  BERTH_ASSERT(open_marks_ > 0 && mark <= changes_.size());
  while (changes_.size() > mark) {
    const Change& last = changes_.back();
    State(last.flavor)->tree->AddUsed(last.leaf, *last.per_pod, -last.count);
    changes_.pop_back();
  }
  --open_marks_;
}

bool TopologyPlacer::FitsAlone(const PlacedPods& placed) const {
  const TopologyTree& tree = *TreeOf(placed.flavor);
  const ResourceId pods = vocabulary_.resources.Find("pods");
  return std::all_of(placed.domains.begin(), placed.domains.end(), [&](const auto& domain) {
    const std::int32_t leaf = tree.domain(tree.FindLeaf(domain.first)).leaf;
    bool asks_for_anything = false;
    for (const ResourceRequest& item : placed.per_pod) {
      if (item.resource == pods) continue;
      asks_for_anything = true;
      const std::int64_t left =
          api::SubtractAmounts(tree.Free(leaf, item.resource), tree.Used(leaf, item.resource));
      if (left / item.amount < domain.second) return false;
    }
    return asks_for_anything;
  });
}

bool TopologyPlacer::Fits(const std::vector<PlacedPods>& placed, Counting counting) {
  if (placed.empty()) return true;
  bool known = true;
  for (const PlacedPods& pods : placed) {
    const TopologyTree* tree = TreeOf(pods.flavor);
    for (const auto& [key, count] : pods.domains) {
      const DomainId leaf = tree == nullptr ? kNoDomain : tree->FindLeaf(key);
      known = known && leaf != kNoDomain && tree->domain(leaf).live > 0;
    }
  }
  if (!known) return false;
  if (counting == Counting::kEachAlone) {
    return std::all_of(placed.begin(), placed.end(),
                       [this](const PlacedPods& pods) { return FitsAlone(pods); });
  }
  const Mark mark = Begin();
  Book(placed, 1);
  bool fits = true;
  for (const PlacedPods& pods : placed) {
    const TopologyTree& tree = *TreeOf(pods.flavor);
    for (const auto& [key, count] : pods.domains) {
      const std::int32_t leaf = tree.domain(tree.FindLeaf(key)).leaf;
      for (const ResourceRequest& item : pods.per_pod) {
        fits = fits && tree.Used(leaf, item.resource) <= tree.Free(leaf, item.resource);
      }
    }
  }
  RollBack(mark);
  return fits;
}

PlacedPods TopologyPlacer::Booking(const api::PodSet& pod_set, FlavorId flavor,
                                   const api::TopologyAssignment& assignment) {
  PlacedPods placed;
  placed.flavor = flavor;
  placed.per_pod = OnePod(pod_set.pod_template.spec);
  placed.domains.reserve(assignment.domains.size());
  for (const auto& domain : assignment.domains) {
    placed.domains.emplace_back(KeyOf(assignment, domain), domain.count);
  }
  return placed;
}

void TopologyPlacer::Assume(const PlacedPods& placed, std::int64_t sign) {
  for (const auto& domain : placed.domains) {
    const std::int64_t change = sign * domain.second;
    ForEachTree(placed.flavor, domain.first,
                [&, change](FlavorId /*id*/, TopologyTree& tree, DomainId leaf) {
                  tree.AddAssumed(leaf, placed.per_pod, change);
                });
  }
}

CountView& TopologyPlacer::ViewOf(FlavorState& state, CountKey shape) {
  for (const ResourceRequest& shares : state.shares_per_gpu) {
    const auto asks = [&shares](const auto& item) { return item.resource == shares.resource; };
    if (std::any_of(shape.pod.begin(), shape.pod.end(), asks)) {
      shape.shares_per_gpu.push_back(shares);
    }
  }
  auto& views = state.views;
  const auto found = std::find_if(views.begin(), views.end(),
                                  [&shape](const auto& view) { return view->shape() == shape; });
  if (found != views.end()) {
    std::rotate(views.begin(), found, found + 1);
  } else {
    if (views.size() >= kMaxViews) views.pop_back();
    views.insert(views.begin(),
                 std::make_unique<CountView>(*state.tree, vocabulary_.resources, std::move(shape)));
  }
  views.front()->Refresh();
  return *views.front();
}

// Selector and tolerations of the pods, with the additions of ready checks and of the flavor.
std::variant<NodeFilter, std::string> TopologyPlacer::FilterOf(const api::Workload& workload,
                                                               const api::PodSet& pod_set,
                                                               const FlavorState& state) const {
  NodeFilter filter;
  const api::PodSpec& spec = pod_set.pod_template.spec;
  filter.selector = spec.node_selector;
  filter.tolerations = spec.tolerations;
  filter.affinity = spec.required_node_affinity;
  if (profile_.preferred_nodes) filter.preferred = spec.preferred_node_affinity;
  for (const api::AdmissionCheckState& check : workload.status.admission_checks) {
    if (check.state != api::CheckState::kReady) continue;
    for (const api::PodSetUpdate& update : check.pod_set_updates) {
      if (update.name != pod_set.name) continue;
      for (const auto& [key, value] : update.node_selector) {
        const auto [known, added] = filter.selector.try_emplace(key, value);
        if (added || known->second == value) continue;
        return "invalid podSetUpdate for PodSet " + pod_set.name +
               ", error: invalid admission check PodSetModification: conflict for nodeSelector: "
               "conflict for key=" +
               key + ", value1=" + known->second + ", value2=" + value;
      }
      filter.tolerations.insert(filter.tolerations.end(), update.tolerations.begin(),
                                update.tolerations.end());
    }
  }
  filter.tolerations.insert(filter.tolerations.end(), state.tolerations.begin(),
                            state.tolerations.end());
  if (!state.tree->lowest_is_hostname()) return NodeFilter{};
  return filter;
}

namespace {

CountKey ShapeOf(const ResolvedRequest& resolved, bool least_first) {
  CountKey shape;
  shape.slice_size = resolved.slice_size;
  shape.slice_level = resolved.slice_level;
  shape.inner_sizes = resolved.inner_sizes;
  shape.order = resolved.unconstrained && least_first ? CountKey::Order::kLeastFirst
                                                      : CountKey::Order::kMostFirst;
  return shape;
}

}  // namespace

std::string TopologyPlacer::PlaceNew(Group& group) {
  const PlacementRequest* workers = &group.requests.front();
  const PlacementRequest* leader = group.requests.size() > 1 ? &group.requests[1] : nullptr;
  if (leader != nullptr && leader->count > workers->count) std::swap(leader, workers);
  const api::PodSet& pod_set = group.PodSetOf(*workers);
  const TopologyTree& tree = *group.state.tree;
  auto filter = FilterOf(group.workload, pod_set, group.state);
  if (const auto* wrong = std::get_if<std::string>(&filter)) return *wrong;
  const auto resolved = Resolve(tree.levels(), pod_set.topology_request, workers->implied);
  if (const auto* wrong = std::get_if<std::string>(&resolved)) return *wrong;
  const auto& request = std::get<ResolvedRequest>(resolved);
  CountKey shape = ShapeOf(request, profile_.least_free_for_unconstrained);
  shape.pod = OnePod(pod_set.pod_template.spec);
  if (leader != nullptr) shape.leader = OnePod(group.PodSetOf(*leader).pod_template.spec);
  shape.filter = std::get<NodeFilter>(std::move(filter));
  shape.usage = group.usage;
  const Balance balance = profile_.balanced ? Balance::kOn : Balance::kOff;
  FoundDomains found =
      FindPlaces(ViewOf(group.state, std::move(shape)), request, workers->count, balance);
  if (!found.failure.empty()) return found.failure;
  for (const PlacementRequest& asked : group.requests) {
    const bool leads = &asked == leader;
    if (!leads && &asked != workers) continue;  // a third pod set of the group
    Placement placement{asked.pod_set, asked.flavor,
                        AssignmentOf(tree, leads ? found.leader : found.workers)};
    group.assumed.push_back(Booking(group.PodSetOf(asked), asked.flavor, placement.assignment));
    group.placements.push_back(std::move(placement));
  }
  return "";
}

namespace {

struct Remains {
  api::TopologyAssignment assignment;  // without the failed node
  std::int32_t missing = 0;            // pods on the failed node
};

Remains Without(const api::TopologyAssignment& assignment, const std::string& node) {
  Remains remains{{assignment.levels, {}}, 0};
  for (const auto& domain : assignment.domains) {
    if (domain.values.back() == node) {
      remains.missing = domain.count;
    } else {
      remains.assignment.domains.push_back(domain);
    }
  }
  return remains;
}

DomainId Ancestor(const TopologyTree& tree, DomainId id, std::int32_t level) {
  while (tree.domain(id).level > level) id = tree.domain(id).parent;
  return id;
}

// The domain of `level` in which the missing pods complete a slice.
DomainId DomainOfBrokenSlice(const TopologyTree& tree, const Remains& remains, std::int32_t size,
                             const std::string& topology) {
  const std::optional<std::int32_t> level = tree.LevelOf(topology);
  if (!level) return kNoDomain;
  std::map<std::pair<std::int64_t, DomainId>, std::int32_t> pods;  // by rank
  for (const auto& domain : remains.assignment.domains) {
    const DomainId leaf = tree.FindLeaf(KeyOf(remains.assignment, domain));
    if (leaf == kNoDomain) continue;
    const DomainId above = Ancestor(tree, leaf, *level);
    pods[{tree.domain(above).rank, above}] += domain.count;
  }
  for (const auto& [place, count] : pods) {
    if ((count + remains.missing) % size == 0) return place.second;
  }
  return kNoDomain;
}

// The domain that must contain the replacement, so that slices and required levels stay whole.
DomainId RequiredDomain(const TopologyTree& tree, const Remains& remains,
                        const std::optional<api::TopologyRequest>& request, std::int32_t level) {
  if (remains.assignment.domains.empty()) return kNoDomain;
  const auto layers = SliceLayers(request);
  if (!layers.empty() && layers.front().size > 0 && remains.missing % layers.front().size != 0) {
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
      if (layer->size <= 0 || remains.missing % layer->size == 0) continue;
      return DomainOfBrokenSlice(tree, remains, layer->size, layer->topology);
    }
  }
  if (!request || !request->required) return kNoDomain;
  const DomainId leaf =
      tree.FindLeaf(KeyOf(remains.assignment, remains.assignment.domains.front()));
  return leaf == kNoDomain ? kNoDomain : Ancestor(tree, leaf, level);
}

// Inside the domain of a broken slice: keeps the innermost layer whose size divides the missing
// pods, or none.
void KeepInnermostLayer(api::TopologyRequest& request, std::int32_t missing) {
  const auto layers = SliceLayers(request);
  request.slice_constraints.clear();
  request.slice_required_topology.reset();
  request.slice_size.reset();
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    if (missing % layer->size != 0) continue;
    request.slice_required_topology = layer->topology;
    request.slice_size = layer->size;
    return;
  }
}

std::vector<PodsInDomain> Merged(const TopologyTree& tree, const Remains& remains,
                                 const std::vector<PodsInDomain>& more) {
  std::map<std::pair<std::int64_t, DomainId>, std::int32_t> pods;
  for (const auto& domain : remains.assignment.domains) {
    const DomainId leaf = tree.FindLeaf(KeyOf(remains.assignment, domain));
    pods[{tree.domain(leaf).rank, leaf}] += domain.count;
  }
  for (const PodsInDomain& place : more) {
    pods[{tree.domain(place.domain).rank, place.domain}] += place.count;
  }
  std::vector<PodsInDomain> merged;
  for (const auto& [place, count] : pods) merged.push_back({place.second, count});
  return merged;
}

}  // namespace

std::string TopologyPlacer::Replace(Group& group, const PlacementRequest& request) {
  const api::PodSet& pod_set = group.PodSetOf(request);
  const api::PodSetAssignment* assigned = AssignedTo(group.workload, pod_set.name);
  if (assigned == nullptr || !assigned->topology_assignment) return "";
  const TopologyTree& tree = *group.state.tree;
  const std::string& failed = group.workload.status.unhealthy_nodes.front();
  const Remains remains = Without(*assigned->topology_assignment, failed);
  for (const auto& domain : remains.assignment.domains) {
    const DomainId leaf = tree.FindLeaf(KeyOf(remains.assignment, domain));
    if (leaf != kNoDomain && tree.domain(leaf).live > 0) continue;
    return "Cannot replace the node, because the existing topologyAssignment is invalid, as it "
           "contains the stale domain " +
           domain.values.front();
  }
  std::optional<api::TopologyRequest> asked = pod_set.topology_request;
  auto resolved = Resolve(tree.levels(), asked, request.implied);
  if (const auto* wrong = std::get_if<std::string>(&resolved)) return *wrong;
  const DomainId below =
      RequiredDomain(tree, remains, asked, std::get<ResolvedRequest>(resolved).level);
  const std::int32_t slice_size = std::get<ResolvedRequest>(resolved).slice_size;
  if (below != kNoDomain && remains.missing % slice_size != 0) {
    KeepInnermostLayer(*asked, remains.missing);
    resolved = Resolve(tree.levels(), asked, request.implied);
    if (const auto* wrong = std::get_if<std::string>(&resolved)) return *wrong;
  }
  auto filter = FilterOf(group.workload, pod_set, group.state);
  if (const auto* wrong = std::get_if<std::string>(&filter)) return *wrong;
  CountKey shape =
      ShapeOf(std::get<ResolvedRequest>(resolved), profile_.least_free_for_unconstrained);
  shape.pod = OnePod(pod_set.pod_template.spec);
  shape.filter = std::get<NodeFilter>(std::move(filter));
  shape.only_below = below;
  const FoundDomains found =
      FindPlaces(ViewOf(group.state, std::move(shape)), std::get<ResolvedRequest>(resolved),
                 remains.missing, Balance::kOff);
  if (!found.failure.empty()) return found.failure;
  if (found.workers.empty()) {
    return "cannot find replacement assignment for unhealthy node: " + failed;
  }
  group.assumed.push_back(Booking(pod_set, request.flavor, AssignmentOf(tree, found.workers)));
  group.placements.push_back(
      {request.pod_set, request.flavor, AssignmentOf(tree, Merged(tree, remains, found.workers))});
  return "";
}

void TopologyPlacer::PlaceGroup(Group& group) {
  if (!HasUnhealthyAssignment(group.workload)) {
    group.failure = PlaceNew(group);
    return;
  }
  for (const PlacementRequest& request : group.requests) {
    group.failure = Replace(group, request);
    if (!group.failure.empty()) return;
  }
}

PlacementResult TopologyPlacer::Place(const api::Workload& workload,
                                      const std::vector<PlacementRequest>& requests,
                                      CountKey::Usage usage) {
  PlacementResult result;
  std::vector<FlavorId> flavors;
  for (const PlacementRequest& request : requests) {
    if (std::find(flavors.begin(), flavors.end(), request.flavor) == flavors.end()) {
      flavors.push_back(request.flavor);
    }
  }
  std::sort(flavors.begin(), flavors.end(), [this](FlavorId a, FlavorId b) {
    return vocabulary_.flavors[a] < vocabulary_.flavors[b];
  });
  std::vector<PlacedPods> assumed;
  for (const FlavorId flavor : flavors) {
    std::vector<bool> done(requests.size(), false);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (done[i] || requests[i].flavor != flavor) continue;
      Group group{workload, *State(flavor), usage, {requests[i]}, {}, {}, ""};
      const auto& first = group.PodSetOf(requests[i]).topology_request;
      for (std::size_t j = i + 1; j < requests.size(); ++j) {
        const auto& other = group.PodSetOf(requests[j]).topology_request;
        if (requests[j].flavor != flavor || !first || !other || !first->pod_set_group_name ||
            first->pod_set_group_name != other->pod_set_group_name) {
          continue;
        }
        group.requests.push_back(requests[j]);
        done[j] = true;
      }
      PlaceGroup(group);
      if (!group.failure.empty()) {
        if (!result.failure) result.failure = {requests[i].pod_set, flavor, group.failure};
        break;
      }
      for (const PlacedPods& pods : group.assumed) Assume(pods, 1);
      std::move(group.assumed.begin(), group.assumed.end(), std::back_inserter(assumed));
      std::move(group.placements.begin(), group.placements.end(),
                std::back_inserter(result.placements));
    }
  }
  for (const PlacedPods& pods : assumed) Assume(pods, -1);
  return result;
}

// Nodes of the TopologyPlacer: the trees of each node, and its free amounts.

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

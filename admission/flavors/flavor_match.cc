#include "admission/flavors/flavor_match.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "api/topology_annotations.h"

namespace berth::admission {
namespace {

bool TermMatches(const api::NodeSelectorTerm& term, const api::StringMap& labels, bool& is_empty) {
  is_empty = true;
  bool matches = true;
  for (const api::NodeSelectorRequirement& requirement : term.match_expressions) {
    if (!labels.contains(requirement.key)) continue;  // no label key of the flavor
    is_empty = false;
    matches = matches && api::Matches(requirement, labels);
  }
  return matches;
}

}  // namespace

bool MatchesFlavor(const api::PodSpec& spec, const api::ResourceFlavor& flavor) {
  for (const auto& [key, value] : spec.node_selector) {
    const auto label = flavor.node_labels.find(key);
    if (label != flavor.node_labels.end() && label->second != value) return false;
  }
  if (!spec.required_node_affinity || spec.required_node_affinity->empty()) return true;
  bool matches = false;
  for (const api::NodeSelectorTerm& term : *spec.required_node_affinity) {
    bool is_empty = false;
    const bool term_matches = TermMatches(term, flavor.node_labels, is_empty);
    if (is_empty) return true;  // terms are alternatives; this one has no requirement left
    matches = matches || term_matches;
  }
  return matches;
}

const api::Taint* UntoleratedTaint(const api::PodSpec& spec, const api::ResourceFlavor& flavor) {
  const auto tolerates = [](const std::vector<api::Toleration>& tolerations,
                            const api::Taint& taint) {
    return std::any_of(
        tolerations.begin(), tolerations.end(),
        [&taint](const api::Toleration& toleration) { return api::Tolerates(toleration, taint); });
  };
  for (const api::Taint& taint : flavor.node_taints) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") continue;
    if (!tolerates(spec.tolerations, taint) && !tolerates(flavor.tolerations, taint)) {
      return &taint;
    }
  }
  return nullptr;
}

std::optional<Obstacle> FlavorMatch::FindObstacle(const PodSetGroup& group,
                                                  const CompiledGroup& resources,
                                                  FlavorId flavor) const {
  if (workload_.avoids_flavors && workload_.Avoids(state_.vocabulary().flavors[flavor])) {
    Obstacle obstacle;
    obstacle.flavor = flavor;
    obstacle.kind = Obstacle::Kind::kUsedUp;
    return obstacle;
  }
  const bool on_topology =
      topologies_ &&
      (state_.placer().HasTopology(flavor) ||
       std::any_of(group.pod_sets.begin(), group.pod_sets.end(), [this](std::size_t index) {
         return workload_.pod_sets[index].topology_request;
       }));
  if (!on_topology && state_.flavors().TakesAllPods(flavor)) return std::nullopt;
  Obstacle obstacle;
  obstacle.flavor = flavor;
  const std::shared_ptr<const api::ResourceFlavor> object = state_.flavors().Find(flavor);
  if (object == nullptr) {
    obstacle.kind = Obstacle::Kind::kFlavorNotFound;
    return obstacle;
  }
  for (const std::size_t index : group.pod_sets) {
    const api::PodSet& pod_set = workload_.object->spec.pod_sets[index];
    if (topologies_) {
      if (auto mismatch = TopologyMismatch(pod_set, resources, flavor)) {
        obstacle.kind = Obstacle::Kind::kTopology;
        obstacle.SetText(*std::move(mismatch));
        return obstacle;
      }
    }
    const api::PodSpec& spec = pod_set.pod_template.spec;
    if (const api::Taint* taint = UntoleratedTaint(spec, *object)) {
      obstacle.kind = Obstacle::Kind::kUntoleratedTaint;
      obstacle.SetTaint(std::shared_ptr<const api::Taint>(object, taint));
      return obstacle;
    }
    if (!MatchesFlavor(spec, *object)) {
      obstacle.kind = Obstacle::Kind::kAffinityMismatch;
      return obstacle;
    }
    const auto excess =
        state_.flavors().sharing(flavor).FindExcess(workload_.pod_sets[index].per_pod);
    if (excess) {
      obstacle.kind = Obstacle::Kind::kTooManyShares;
      obstacle.resource = excess->request.resource;
      obstacle.requested = excess->request.amount;
      obstacle.limit = excess->most;
      return obstacle;
    }
  }
  return std::nullopt;
}

std::optional<std::string> FlavorMatch::TopologyMismatch(const api::PodSet& pod_set,
                                                         const CompiledGroup& resources,
                                                         FlavorId flavor) const {
  const TopologyPlacer& placer = state_.placer();
  const queue::Names& names = state_.vocabulary().flavors;
  if (!AsksForTopology(pod_set)) {
    if (places_everything_ || !placer.HasTopology(flavor)) return std::nullopt;
    return "Flavor \"" + names[flavor] + "\" supports only TopologyAwareScheduling";
  }
  if (!placer.HasTopology(flavor)) {
    // The flavor may serve resources that pods do not request themselves (transformed ones).
    const api::ResourceAmounts requests = api::PodRequests(pod_set.pod_template.spec);
    const queue::Names& resource_names = state_.vocabulary().resources;
    const bool asked = std::any_of(resources.resources.begin(), resources.resources.end(),
                                   [&](ResourceId resource) {
                                     const auto found = requests.find(resource_names[resource]);
                                     return found != requests.end() && found->second != 0;
                                   });
    if (!asked) return std::nullopt;
  }
  return placer.Mismatch(*pod_set.topology_request, flavor);
}

}  // namespace berth::admission

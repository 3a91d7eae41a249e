// Whether pods may run on the nodes of a flavor, and how many GPUs they take there.
#include <algorithm>

#include "admission/flavor_assigner.h"

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

void FlavorAssigner::AddGpus(queue::Requests& requests) const {
  const queue::Names& names = context_.state.vocabulary().resources;
  if (!AsksForGpus(requests, names)) return;
  const auto place = std::lower_bound(
      requests.begin(), requests.end(), gpus_,
      [&names](const auto& one, ResourceId gpus) { return names[one.resource] < names[gpus]; });
  if (place != requests.end() && place->resource == gpus_) return;
  const Amount whole = GpuSharing().GpusOf(requests, names);
  requests.insert(place, {gpus_, whole});
}

}  // namespace berth::admission

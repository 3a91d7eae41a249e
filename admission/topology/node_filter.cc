#include "admission/topology/node_filter.h"

#include <algorithm>

#include "api/node_match.h"

namespace berth::admission {
namespace {

std::string TextOf(const api::Taint& taint) {
  std::string text = taint.key;
  if (!taint.value.empty()) text += "=" + taint.value;
  if (!taint.effect.empty()) text += ":" + taint.effect;
  return text;
}

bool Matches(const api::NodeSelectorTerm& term, const NodeFacts& node) {
  return api::Matches(term, node.labels, node.name);
}

}  // namespace

bool KeepsPodsAway(const api::Taint& taint) {
  return taint.effect == "NoSchedule" || taint.effect == "NoExecute";
}

std::optional<std::string> WhyExcluded(const NodeFilter& filter, const NodeFacts& node) {
  for (const api::Taint& taint : node.taints) {
    const bool tolerated = std::any_of(
        filter.tolerations.begin(), filter.tolerations.end(),
        [&taint](const api::Toleration& toleration) { return api::Tolerates(toleration, taint); });
    if (!tolerated) return "taint \"" + TextOf(taint) + '"';
  }
  for (const auto& [key, value] : filter.selector) {
    const auto label = node.labels.find(key);
    if (label == node.labels.end() || label->second != value) return "nodeSelector";
  }
  if (filter.affinity && std::none_of(filter.affinity->begin(), filter.affinity->end(),
                                      [&node](const auto& term) { return Matches(term, node); })) {
    return "affinity";
  }
  return std::nullopt;
}

std::int64_t PreferenceFor(const NodeFilter& filter, const NodeFacts& node) {
  std::int64_t sum = 0;
  for (const api::PreferredNodes& nodes : filter.preferred) {
    if (Matches(nodes.preference, node)) sum += nodes.weight;
  }
  return sum;
}

}  // namespace berth::admission

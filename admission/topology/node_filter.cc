#include "admission/topology/node_filter.h"

#include <algorithm>

namespace berth::admission {
namespace {

std::string TextOf(const api::Taint& taint) {
  std::string text = taint.key;
  if (!taint.value.empty()) text += "=" + taint.value;
  if (!taint.effect.empty()) text += ":" + taint.effect;
  return text;
}

// matchFields knows one field, the node's name.
bool Matches(const api::NodeSelectorTerm& term, const NodeFacts& node) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  const api::StringMap fields = {{"metadata.name", node.name}};
  return std::all_of(term.match_expressions.begin(), term.match_expressions.end(),
                     [&node](const auto& asked) { return api::Matches(asked, node.labels); }) &&
         std::all_of(term.match_fields.begin(), term.match_fields.end(),
                     [&fields](const auto& asked) { return api::Matches(asked, fields); });
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

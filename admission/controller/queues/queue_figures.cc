#include "admission/controller/queues/queue_figures.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

namespace berth::admission {

QueueFigures FiguresOf(const Scheduler& scheduler, const std::string& cluster_queue) {
  QueueFigures figures;
  const auto id = scheduler.state().cluster_queues().Find(cluster_queue);
  if (!id) return figures;
  const NodeId leaf = scheduler.state().queue(*id).node;
  const QuotaTree& tree = scheduler.state().tree();
  if (tree.InCycle(leaf)) return figures;
  for (NodeId node = tree.parent(leaf); node != kNoQuotaNode; node = tree.parent(node)) {
    figures.cohorts.push_back(scheduler.state().cohorts().NameOf(node));
  }
  return figures;
}

std::optional<CohortStanding> StandingOfCohort(const Scheduler& scheduler,
                                               const std::string& name) {
  const ClusterState& state = scheduler.state();
  const QuotaTree& tree = state.tree();
  const std::optional<NodeId> node = state.cohorts().Find(name);
  if (!node) return std::nullopt;
  CohortStanding standing;
  if (tree.InCycle(*node)) return standing;
  if (tree.parent(*node) != kNoQuotaNode) {
    standing.parent = state.cohorts().NameOf(tree.parent(*node));
  }
  standing.root = state.cohorts().NameOf(tree.Root(*node));
  const Vocabulary& vocabulary = scheduler.state().vocabulary();
  tree.ForEachDeclared(*node, [&](FlavorResourceId fr, Amount /*usage*/, Amount subtree) {
    standing.amounts.push_back({vocabulary.flavors[vocabulary.flavor_resources.FlavorOf(fr)],
                                vocabulary.resources[vocabulary.flavor_resources.ResourceOf(fr)],
                                subtree});
  });
  return standing;
}

std::string CycleAbove(const ClusterState& state, NodeId node) {
  const QuotaTree& tree = state.tree();
  if (!tree.InCycle(node)) return "";
  std::vector<NodeId> above;
  NodeId next = tree.parent(node);
  for (; next != kNoQuotaNode; next = tree.parent(next)) {
    if (std::find(above.begin(), above.end(), next) != above.end()) break;
    above.push_back(next);
  }
  std::string text = state.cohorts().NameOf(next);
  for (auto at = std::find(above.begin(), above.end(), next) + 1; at != above.end(); ++at) {
    text += " -> " + state.cohorts().NameOf(*at);
  }
  return text + " -> " + state.cohorts().NameOf(next);
}

std::optional<api::ConsumedUsage> ConsumedUsageOf(Scheduler& scheduler,
                                                  const api::ObjectKey& local_queue, WallTime now) {
  const auto history = scheduler.sharing().Sample(local_queue, now);
  if (!history) return std::nullopt;
  api::ConsumedUsage usage{{}, CutToSeconds(history->last_update)};
  for (const auto& [resource, amount] : history->consumed) {
    std::array<char, 64> text{};
    // The full precision of a quantity; large amounts, such as bytes, need no fraction.
    std::snprintf(text.data(), text.size(), amount < 1e6 ? "%.9f" : "%.0f", amount);
    const Result<api::Quantity> quantity = api::Quantity::Parse(text.data());
    if (quantity && !quantity->zero()) usage.consumed[resource] = *quantity;
  }
  return usage;
}

}  // namespace berth::admission

#include "admission/controller/explanation.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "admission/messages.h"

namespace berth::admission {
namespace {

using Json = nlohmann::json;

// The flavor-resource of the queue's quota, or -1.
FlavorResourceId FindQuota(const QueueState& queue, FlavorId flavor, ResourceId resource) {
  const CompiledGroup* group = queue.GroupOf(resource);
  if (group == nullptr) return -1;
  const auto found = std::find(group->flavors.begin(), group->flavors.end(), flavor);
  if (found == group->flavors.end()) return -1;
  return group->Find(static_cast<std::size_t>(found - group->flavors.begin()), resource);
}

bool IsAboutAmounts(const Obstacle& obstacle) {
  return obstacle.kind == Obstacle::Kind::kExceedsMaximum ||
         obstacle.kind == Obstacle::Kind::kInsufficientQuota;
}

// Which of the queue's limits binds, in a few words.
std::string BindingLimit(const Obstacle& obstacle, const QueueState& queue, const QuotaTree& tree,
                         FlavorResourceId quota, const std::string& resource) {
  const auto amount = [&](Amount value) { return api::FormatAmount(resource, value); };
  if (obstacle.kind == Obstacle::Kind::kExceedsMaximum) {
    return "never more than " + amount(obstacle.limit) + " in this queue";
  }
  if (queue.spec.cohort_name.empty()) return "nominalQuota";
  if (const auto limit = tree.BorrowingLimit(queue.node, quota)) {
    return "may borrow " + amount(*limit);
  }
  return "cohort " + queue.spec.cohort_name + " has no more to lend";
}

Json TriedJson(const PodSetDecision& pod_set, const Obstacle& obstacle, const Decision& decision,
               const Scheduler& scheduler) {
  const Vocabulary& vocabulary = scheduler.vocabulary();
  Json tried = {{"podSet", pod_set.name}};
  if (obstacle.flavor >= 0) tried["flavor"] = vocabulary.flavors[obstacle.flavor];
  if (!IsAboutAmounts(obstacle)) {
    tried["message"] = ObstacleMessage(obstacle, vocabulary);
    return tried;
  }
  const std::string& resource = vocabulary.resources[obstacle.resource];
  tried["resource"] = resource;
  tried["asked"] = api::AddAmounts(obstacle.assumed, obstacle.requested);
  tried["available"] = obstacle.limit;
  const QueueState& queue = scheduler.state().queue(decision.cluster_queue);
  const FlavorResourceId quota = FindQuota(queue, obstacle.flavor, obstacle.resource);
  if (quota >= 0) {
    const QuotaTree& tree = scheduler.state().tree();
    tried["nominal"] = tree.Nominal(queue.node, quota);
    tried["limit"] = BindingLimit(obstacle, queue, tree, quota, resource);
  }
  return tried;
}

std::string WhyNot(SparedCandidate::Cause cause) {
  switch (cause) {
    case SparedCandidate::Cause::kQueueWithinNominal: return "its queue is within its own quota";
    case SparedCandidate::Cause::kNeedsNoBorrowing:
      return "may only be preempted for a workload that does not borrow";
    case SparedCandidate::Cause::kFairShare: return "fair sharing protects it";
    case SparedCandidate::Cause::kNotNeeded: return "its quota is not needed";
  }
  return "";
}

}  // namespace

std::string ExplanationJson(const Decision& decision, const Scheduler& scheduler) {
  Json tried = Json::array();
  for (const PodSetDecision& pod_set : decision.assignment.pod_sets) {
    for (const Obstacle& obstacle : pod_set.obstacles) {
      tried.push_back(TriedJson(pod_set, obstacle, decision, scheduler));
    }
  }
  Json victims = Json::array();
  for (const SparedCandidate& spared : decision.spared) {
    const std::vector<api::ObjectKey> keys = scheduler.Keys({spared.workload});
    if (keys.empty()) continue;
    victims.push_back({{"workload", keys.front().ToString()}, {"whyNot", WhyNot(spared.cause)}});
  }
  if (tried.empty() && victims.empty()) return "";
  Json explanation = {{"tried", std::move(tried)}, {"victims", std::move(victims)}};
  const auto text = [&] {
    return explanation.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  std::string json = text();
  // The first ones tried say most; the later ones go where it gets too long.
  while (json.size() > kMaxExplanationBytes && !explanation["tried"].empty()) {
    explanation["tried"].erase(explanation["tried"].size() - 1);
    json = text();
  }
  return json;
}

}  // namespace berth::admission

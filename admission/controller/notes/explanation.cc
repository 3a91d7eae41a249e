#include "admission/controller/notes/explanation.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "admission/messages.h"
#include "api/checkpoint.h"
#include "api/codec/json_write.h"
#include "base/rfc3339.h"

namespace berth::admission {
namespace {

using Json = nlohmann::json;

// The flavor-resource of the queue, or -1.
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

// The amounts that a cohort's other members keep by their lendingLimit, with the largest keeper.
std::string KeptBack(const ClusterState& state, NodeId cohort, NodeId except,
                     FlavorResourceId quota, const std::string& resource) {
  constexpr std::size_t kMostMembers = 64;
  const QuotaTree& tree = state.tree();
  NodeId most = kNoQuotaNode;
  Amount kept = 0;
  std::size_t looked_at = 0;
  for (const NodeId member : tree.children(cohort)) {
    if (++looked_at > kMostMembers) break;
    const Amount local = member == except ? 0 : tree.AmountsOf(member, quota).LocalAvailable();
    if (local <= kept) continue;
    kept = local;
    most = member;
  }
  if (most == kNoQuotaNode) return "";
  const ClusterQueueId queue = state.cluster_queues().At(most);
  const std::string name = queue >= 0 ? "ClusterQueue " + state.queue(queue).name
                                      : "cohort " + state.cohorts().NameOf(most);
  return name + " keeps " + api::FormatAmount(resource, kept) + " unused by its lendingLimit";
}

// The binding limit in a few words: on the way up, the first limit that is lower than the amount
// available above it.
std::string BindingLimit(const Obstacle& obstacle, const QueueState& queue,
                         const ClusterState& state, FlavorResourceId quota,
                         const std::string& resource) {
  const QuotaTree& tree = state.tree();
  const auto amount = [&](Amount value) { return api::FormatAmount(resource, value); };
  if (obstacle.kind == Obstacle::Kind::kExceedsMaximum) {
    return "never more than " + amount(obstacle.limit) + " in this queue";
  }
  if (queue.spec.cohort_name.empty() || tree.InCycle(queue.node)) return "nominalQuota";
  for (NodeId node = queue.node; tree.parent(node) != kNoQuotaNode; node = tree.parent(node)) {
    const QuotaCell& amounts = tree.AmountsOf(node, quota);
    if (const auto limit = amounts.BorrowingLimit()) {
      const Amount most = api::AddAmounts(amounts.subtree, *limit);
      const Amount left = api::SubtractAmounts(most, amounts.usage);
      if (left <= std::max<Amount>(0, tree.Available(tree.parent(node), quota))) {
        const std::string whose =
            node == queue.node ? "" : "cohort " + state.cohorts().NameOf(node) + " ";
        return whose + "may borrow " + amount(*limit);
      }
    }
    std::string kept = KeptBack(state, tree.parent(node), node, quota, resource);
    if (!kept.empty()) return kept;
  }
  return "cohort " + queue.spec.cohort_name + " has no more to lend";
}

Json TriedJson(const PodSetDecision& pod_set, const Obstacle& obstacle, const Decision& decision,
               const Scheduler& scheduler) {
  const Vocabulary& vocabulary = scheduler.state().vocabulary();
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
  if (quota >= 0 && queue.present) {
    const QuotaTree& tree = scheduler.state().tree();
    tried["nominal"] = tree.AmountsOf(queue.node, quota).nominal;
    // For amounts above the potential, the obstacle's limit is the potential.
    if (obstacle.kind == Obstacle::Kind::kExceedsMaximum && !tree.InCycle(queue.node)) {
      tried["available"] = std::max<Amount>(0, tree.Available(queue.node, quota));
    }
    tried["limit"] = BindingLimit(obstacle, queue, scheduler.state(), quota, resource);
  }
  return tried;
}

const char* Word(api::PreemptionPolicy policy) {
  switch (policy) {
    case api::PreemptionPolicy::kNever: return "Never";
    case api::PreemptionPolicy::kLowerPriority: return "LowerPriority";
    case api::PreemptionPolicy::kLowerOrNewerEqualPriority: return "LowerOrNewerEqualPriority";
    case api::PreemptionPolicy::kAny: return "Any";
  }
  return "";
}

std::string SparedByPolicy(api::PreemptionPolicy policy, const char* field) {
  const std::string name = std::string(" (") + field + ": " + Word(policy) + ")";
  if (policy == api::PreemptionPolicy::kLowerPriority) return "its priority is not lower" + name;
  if (policy == api::PreemptionPolicy::kLowerOrNewerEqualPriority) {
    return "its priority is not lower, nor equal and newer" + name;
  }
  return "the policy spares it" + name;
}

std::string Minutes(Duration time) {
  return std::to_string(std::chrono::ceil<std::chrono::minutes>(time).count()) + " min";
}

// Empty: stops of jobs like the victim are not measured, or cost no more than its job claims.
std::string MeasuredLoss(const Reservation* victim, const RestartCosts& costs) {
  if (victim == nullptr) return "";
  const auto measured = costs.Of(victim->run_kind);
  if (!measured) return "";
  const auto every = api::CheckpointEvery(victim->object->meta.annotations);
  if (!every || !*every || **every >= measured->lost) return "";
  return ". A stop of it counts as " + Minutes(measured->lost) +
         " of work: stops of jobs like it have cost so much each (median). Its job claims " +
         Minutes(**every) + " (" + api::kCheckpointEveryAnnotation + ")";
}

std::string WhyNot(const SparedCandidate& spared, const Decision& decision,
                   const Scheduler& scheduler) {
  const ClusterState& state = scheduler.state();
  switch (spared.cause) {
    case SparedCandidate::Cause::kQueueWithinNominal: return "its queue is within its own quota";
    case SparedCandidate::Cause::kNeedsNoBorrowing:
      return "may only be preempted for a workload that does not borrow";
    case SparedCandidate::Cause::kFairShare: return "fair sharing protects it";
    case SparedCandidate::Cause::kNotNeeded: return "its quota is not needed";
    case SparedCandidate::Cause::kPreemptedIt:
      return "it preempted this workload, or was preempted for this workload without success: this "
             "workload preempts it neither in return nor twice";
    case SparedCandidate::Cause::kHasJustBegun:
      return "it has not run for the time that its queue demands (berth.dev/preempt-min-run, "
             "berth.dev/reclaim-min-run)";
    case SparedCandidate::Cause::kWithinTimeSlice:
      return "its time slice is not over, or it is not yet this workload's turn "
             "(berth.dev/time-slice)";
    case SparedCandidate::Cause::kPutOff:
      return "its preemption would lose more than a quarter of the work that this workload is "
             "expected to do; the preemption is delayed until " +
             FormatTime(decision.remark_at) + " at most" +
             MeasuredLoss(state.reservation(spared.workload), scheduler.victim_rules().costs());
    case SparedCandidate::Cause::kJustAdmitted:
      return "it was admitted less than a minute ago, while this workload waited; the preemption "
             "is delayed until " +
             FormatTime(decision.remark_at);
    case SparedCandidate::Cause::kForeignOwner:
      return "Berth does not manage the kind of its owner, and cannot stop it. If another "
             "controller can, name the kind in integrations.externalFrameworks";
    case SparedCandidate::Cause::kPolicy: break;
  }
  const api::QueuePreemption& preemption = state.queue(decision.cluster_queue).spec.preemption;
  const Reservation* other = state.reservation(spared.workload);
  if (other == nullptr || other->cluster_queue == decision.cluster_queue) {
    return SparedByPolicy(preemption.within_cluster_queue, "withinClusterQueue");
  }
  return SparedByPolicy(preemption.reclaim_within_cohort, "reclaimWithinCohort");
}

// The queue's preemption policies, where there is no candidate.
Json PolicyJson(const Decision& decision, const ClusterState& state) {
  const QueueState& queue = state.queue(decision.cluster_queue);
  Json policy = {{"withinClusterQueue", Word(queue.spec.preemption.within_cluster_queue)}};
  if (!queue.spec.cohort_name.empty()) {
    policy["reclaimWithinCohort"] = Word(queue.spec.preemption.reclaim_within_cohort);
  }
  return policy;
}

}  // namespace

std::string ExplanationJson(const Decision& decision, const StopCost* stops,
                            const Scheduler& scheduler) {
  Json tried = Json::array();
  for (const PodSetDecision& pod_set : decision.assignment.pod_sets) {
    for (const Obstacle& obstacle : pod_set.obstacles) {
      tried.push_back(TriedJson(pod_set, obstacle, decision, scheduler));
    }
  }
  Json victims = Json::array();
  for (const SparedCandidate& spared : decision.spared) {
    const api::Workload* workload = scheduler.workloads().object(spared.workload).get();
    if (workload == nullptr) continue;
    victims.push_back({{"workload", workload->meta.key().ToString()},
                       {"whyNot", WhyNot(spared, decision, scheduler)}});
  }
  if (tried.empty() && victims.empty()) return "";
  Json explanation = {{"tried", std::move(tried)}, {"victims", std::move(victims)}};
  if (decision.outcome == Outcome::kNoCandidates) {
    explanation["mayPreempt"] = PolicyJson(decision, scheduler.state());
  }
  if (stops != nullptr) {
    const auto lost = std::chrono::floor<std::chrono::seconds>(stops->lost);
    explanation["stops"] = {{"lostSeconds", lost.count()}, {"count", stops->stops}};
  }
  const auto text = [&] { return api::FormatJson(explanation); };
  std::string json = text();
  // The flavors tried first are the most informative; a text that is too long loses the last ones.
  while (json.size() > kMaxExplanationBytes && !explanation["tried"].empty()) {
    explanation["tried"].erase(explanation["tried"].size() - 1);
    json = text();
  }
  return json;
}

}  // namespace berth::admission

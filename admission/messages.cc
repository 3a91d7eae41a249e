#include "admission/messages.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "admission/pending_facts.h"
#include "api/condition.h"
#include "api/labels.h"
#include "api/quantity.h"
#include "api/reasons.h"
#include "base/concat.h"
#include "base/rfc3339.h"
#include "base/strings.h"

namespace berth::admission {
namespace {

constexpr std::string_view kPreemptedFor = "Preempted to accommodate a workload (UID: ";

const char* ModeName(const FlavorAttempt& attempt) {
  switch (attempt.mode) {
    case AssignmentMode::kNoFit: return "NoFit";
    case AssignmentMode::kPreempt: return "Preempt";
    case AssignmentMode::kDeferredFit: return "DeferredFit";
    case AssignmentMode::kFit: return "Fit";
  }
  return "";
}

const char* PossibilityName(PreemptionPossibility possibility) {
  switch (possibility) {
    case PreemptionPossibility::kNoCandidates: return "NoCandidates";
    case PreemptionPossibility::kPreempt: return "Preempt";
    case PreemptionPossibility::kReclaim: return "Reclaim";
  }
  return "";
}

const char* HumanReadable(PreemptionReason reason) {
  switch (reason) {
    case PreemptionReason::kInClusterQueue: return "prioritization in the ClusterQueue";
    case PreemptionReason::kInCohortReclamation: return "reclamation within the cohort";
    case PreemptionReason::kInCohortFairSharing: return "Fair Sharing within the cohort";
    case PreemptionReason::kInCohortReclaimWhileBorrowing:
      return "reclamation within the cohort while borrowing";
    case PreemptionReason::kTimeSliceExpired: return "the end of its time slice";
  }
  return "UNKNOWN";
}

}  // namespace

const char* ToString(NoFitReason reason) {
  switch (reason) {
    case NoFitReason::kNone: return "";
    case NoFitReason::kTopologyPlacementFailed: return api::kTopologyPlacementFailed;
    case NoFitReason::kWaitingForQuota: return api::kWaitingForQuota;
    case NoFitReason::kExceedsMaxQuota: return api::kExceedsMaxQuota;
    case NoFitReason::kNoMatchingFlavor: return api::kNoMatchingFlavor;
  }
  return "";
}

std::string_view PendingReason(const Decision& decision) {
  switch (decision.outcome) {
    case Outcome::kAdmitted:
    case Outcome::kQuotaReserved: return "";
    case Outcome::kNoFit: return ToString(decision.assignment.no_fit_reason);
    case Outcome::kPreempting:
    case Outcome::kDeferred: return api::kWaitingForPreemptedWorkloads;
    case Outcome::kNoCandidates: return api::kWaitingForQuota;
    case Outcome::kSkipped:
      return decision.remark == Remark::kWaitingForPodsReady ? api::kWaitingForPodsReady
                                                             : api::kWaitingForQuota;
    case Outcome::kEvictForNodeFailure: return api::kNodeFailures;
    case Outcome::kNotNominated: break;
  }
  switch (decision.remark) {
    case Remark::kFailedChecks: return api::kPendingEvaluation;
    case Remark::kQueueInactive: return api::kSuspended;
    default: return api::kMisconfigured;
  }
}

namespace {

void Append(std::string& text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) text += part;
}

void AppendObstacle(std::string& text, const Obstacle& obstacle, const Vocabulary& vocabulary) {
  std::string_view resource;
  std::string_view flavor;
  if (obstacle.resource >= 0) resource = vocabulary.resources[obstacle.resource];
  if (obstacle.flavor >= 0) flavor = vocabulary.flavors[obstacle.flavor];
  const auto amount = [&resource](Amount value) { return api::FormatAmount(resource, value); };
  switch (obstacle.kind) {
    case Obstacle::Kind::kResourceUnavailable:
      return Append(text, {"resource ", resource, " unavailable in ClusterQueue"});
    case Obstacle::Kind::kFlavorNotFound: return Append(text, {"flavor ", flavor, " not found"});
    case Obstacle::Kind::kUntoleratedTaint:
      return Append(text, {"untolerated taint {", obstacle.taint().key, " ", obstacle.taint().value,
                           " ", obstacle.taint().effect, " <nil>} in flavor ", flavor});
    case Obstacle::Kind::kAffinityMismatch:
      return Append(text, {"flavor ", flavor, " doesn't match node affinity"});
    case Obstacle::Kind::kExceedsMaximum:
      return Append(text, {"insufficient quota for ", resource, " in flavor ", flavor,
                           ", previously considered podsets requests (", amount(obstacle.assumed),
                           ") + current podset request (", amount(obstacle.requested),
                           ") > maximum capacity (", amount(obstacle.limit), ")"});
    case Obstacle::Kind::kInsufficientQuota:
      return Append(text, {"insufficient unused quota for ", resource, " in flavor ", flavor, ", ",
                           amount(obstacle.missing()), " more needed"});
    case Obstacle::Kind::kNotNominated:
      return Append(text,
                    {"skipping flavor ", flavor,
                     " as it is not found in the nomination mapping for resource ", resource});
    case Obstacle::Kind::kUsedUp:
      return Append(text,
                    {"flavor ", flavor,
                     " was tried without success by the provisioning policy of the workload"});
    case Obstacle::Kind::kTooManyShares:
      return Append(text, {"a pod asks for ", amount(obstacle.requested), " ", resource,
                           ", shares of a GPU, but flavor ", flavor, " gives a pod at most ",
                           amount(obstacle.limit)});
    case Obstacle::Kind::kOfAnotherSlice:
    case Obstacle::Kind::kTopology:
    case Obstacle::Kind::kTopologyError: text += obstacle.text();
  }
}

}  // namespace

std::string ObstacleMessage(const Obstacle& obstacle, const Vocabulary& vocabulary) {
  std::string text;
  AppendObstacle(text, obstacle, vocabulary);
  return text;
}

std::string_view RuleBehind(const Decision& decision) {
  if (decision.keeps_plan || decision.remark == Remark::kHeldForPreemptor) {
    return "preemptor-keeps-what-it-freed";
  }
  if (decision.remark == Remark::kParkedComeFirst) return "parked-first";
  if (decision.remark == Remark::kOwnersComeFirst) return "owners-before-borrowers";
  if (decision.remark == Remark::kPlaceIsKept) return "kept-places";
  if (decision.remark == Remark::kPreemptionPutOff) return "victim-rules";
  if (decision.remark == Remark::kVictimJustAdmitted) return "spare-the-just-admitted";
  const bool in_return = std::any_of(decision.spared.begin(), decision.spared.end(),
                                     [](const SparedCandidate& spared) {
                                       return spared.cause == SparedCandidate::Cause::kPreemptedIt;
                                     });
  return in_return ? "no-preemption-in-return" : "";
}

std::string TruncateEventMessage(std::string message) {
  constexpr std::size_t kMaxEventBytes = 1024;
  constexpr std::string_view kCut = " ...";
  if (message.size() <= kMaxEventBytes) return message;
  message.resize(kMaxEventBytes - kCut.size());
  message += kCut;
  return message;
}

namespace {

// `pod_sets`: elements with a name and obstacles.
template <typename PodSets>
std::string ObstaclesMessage(const PodSets& pod_sets, const Vocabulary& vocabulary) {
  constexpr std::size_t kUsualSize = 200;
  std::string message;
  for (const auto& pod_set : pod_sets) {
    const auto said = std::count_if(pod_set.obstacles.begin(), pod_set.obstacles.end(),
                                    [](const Obstacle& obstacle) { return obstacle.in_message; });
    std::vector<std::string> texts;  // used where texts are sorted
    for (const Obstacle& obstacle : pod_set.obstacles) {
      if (obstacle.kind == Obstacle::Kind::kTopologyError) {
        return Concat(
            {"failed to assign flavors to pod set ", pod_set.name, ": ", obstacle.text()});
      }
      if (obstacle.in_message && said > 1) texts.push_back(ObstacleMessage(obstacle, vocabulary));
    }
    if (said == 0) continue;
    message.reserve(kUsualSize);
    const std::string_view gap = message.empty() ? "" : "; ";
    Append(message, {gap, "couldn't assign flavors to pod set ", pod_set.name, ": "});
    for (const Obstacle& obstacle : pod_set.obstacles) {
      if (obstacle.in_message && said == 1) AppendObstacle(message, obstacle, vocabulary);
    }
    std::sort(texts.begin(), texts.end());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (i > 0) message += ", ";
      message += texts[i];
    }
  }
  return message;
}

}  // namespace

std::string AssignmentMessage(const Assignment& assignment, const Vocabulary& vocabulary) {
  return ObstaclesMessage(assignment.pod_sets, vocabulary);
}

std::string PendingMessage(const Decision& decision, const Vocabulary& vocabulary,
                           const std::string& queue_name) {
  PendingFacts facts;
  facts.outcome = decision.outcome;
  facts.remark = decision.remark;
  for (const PodSetDecision& pod_set : decision.assignment.pod_sets) {
    facts.pod_sets.push_back({pod_set.name, pod_set.obstacles});
  }
  facts.victim_count = decision.victims.size();
  facts.spares_foreign_owners = SparesForeignOwners(decision.spared);
  facts.remark_at = decision.remark_at;
  const bool is_held = decision.held_for != nullptr;
  facts.object = is_held ? decision.held_for.get() : decision.object.get();
  return PendingMessage(facts, vocabulary, queue_name);
}

namespace {

// A message whose instant changes with each job that ends would be written as often.
WallTime InTenMinutes(WallTime instant) {
  constexpr std::chrono::minutes kTen{10};
  const Duration since = instant.time_since_epoch();
  return WallTime((since + kTen - Duration(1)) / kTen * kTen);
}

}  // namespace

std::string PendingMessage(const PendingFacts& facts, const Vocabulary& vocabulary,
                           const std::string& queue_name) {
  switch (facts.remark) {
    case Remark::kNone: break;
    case Remark::kNoLongerFits: return "Workload no longer fits after processing another workload";
    case Remark::kOverlappingTargets:
      return "Workload has overlapping preemption targets with another workload";
    case Remark::kFitsAfterPreemptions:
      return "Workload has overlapping preemption targets with another workload, but will fit "
             "after these preemptions complete";
    case Remark::kParkedComeFirst:
      return "Workload fits, but a workload before it in the queue fits, too, and is about to be "
             "tried again";
    case Remark::kOwnersComeFirst:
      return "The workload would borrow quota, and workloads of the queues that own the quota go "
             "first";
    case Remark::kHeldForPreemptor:
      return "Workload no longer fits after processing another workload: the quota is kept for " +
             facts.object->meta.key().ToString() + ", which has preempted workloads to get it";
    case Remark::kPlaceIsKept:
      return "Workload fits, but would delay " + facts.object->meta.key().ToString() +
             ", for which the queue keeps a place at " + FormatTime(InTenMinutes(facts.remark_at));
    case Remark::kPreemptionPutOff:
      return "Preemption would lose more than a quarter of the work that the workload is expected "
             "to do; the preemption is delayed until " +
             FormatTime(facts.remark_at);
    case Remark::kVictimJustAdmitted:
      return "Preemption would stop a workload that was admitted less than a minute ago; the "
             "preemption is delayed until " +
             FormatTime(facts.remark_at);
    case Remark::kFailedChecks: return "The workload has failed admission checks";
    case Remark::kQueueInactive: return "ClusterQueue " + queue_name + " is inactive";
    case Remark::kNamespaceMismatch:
      return "workload namespace doesn't match ClusterQueue selector";
    case Remark::kRequestsAboveLimits:
      return "resources validation failed: requests exceed it's limits";
    case Remark::kWaitingForPodsReady:
      return "waiting for all admitted workloads to be in PodsReady condition";
  }
  if (facts.outcome == Outcome::kEvictForNodeFailure) {
    return "Workload was evicted as there was no replacement for unhealthy node(s): " +
           Join(facts.object->status.unhealthy_nodes, ",");
  }
  std::string message = ObstaclesMessage(facts.pod_sets, vocabulary);
  if (facts.outcome == Outcome::kNoCandidates && facts.spares_foreign_owners) {
    message +=
        ". Not preempted: workloads whose owner is of a kind that Berth does not manage; name the "
        "kind in integrations.externalFrameworks if its controller stops them";
  }
  if (facts.outcome == Outcome::kPreempting) {
    message += ". Pending the preemption of ";
    message += std::to_string(facts.victim_count);
    message += " workload(s)";
  }
  return message;
}

std::string ConsideredFlavors(const Assignment& assignment, const Vocabulary& vocabulary) {
  std::string text;
  for (const PodSetDecision& pod_set : assignment.pod_sets) {
    std::string attempts;
    for (const FlavorAttempt& attempt : pod_set.attempts) {
      if (attempt.mode == AssignmentMode::kFit && attempt.borrow_height == 0) continue;
      attempts += (attempts.empty() ? "" : ", ") + vocabulary.flavors[attempt.flavor] + "(";
      attempts += attempt.preemption
                      ? std::string("preemptionMode=") + PossibilityName(*attempt.preemption)
                      : std::string(ModeName(attempt));
      if (attempt.borrow_height > 0) attempts += ";borrow=" + std::to_string(attempt.borrow_height);
      std::vector<std::string> reasons;
      for (const Obstacle& obstacle : pod_set.obstacles) {
        if (obstacle.flavor == attempt.flavor) {
          reasons.push_back(ObstacleMessage(obstacle, vocabulary));
        }
      }
      std::sort(reasons.begin(), reasons.end());
      if (!reasons.empty()) attempts += ";" + Join(reasons, ";");
      attempts += ")";
    }
    if (attempts.empty()) continue;
    text += (text.empty() ? "" : " | ") + pod_set.name + ": " + attempts;
  }
  return text;
}

std::string PreemptedMessage(const api::Workload& preemptor, PreemptionReason reason,
                             const std::string& preemptor_path, const std::string& victim_path) {
  const std::string* job = api::FindValue(preemptor.meta.labels, api::kJobUidLabel);
  const auto or_unknown = [](std::string_view text) {
    return text.empty() ? std::string_view("UNKNOWN") : text;
  };
  return Concat({kPreemptedFor, or_unknown(preemptor.meta.uid),
                 ", JobUID: ", or_unknown(job == nullptr ? "" : std::string_view(*job)),
                 ") due to ", HumanReadable(reason), "; preemptor path: ", preemptor_path,
                 "; preemptee path: ", victim_path});
}

std::string_view PreemptorUidOf(const api::Workload& victim) {
  const api::Condition* preempted = api::FindCondition(victim.status.conditions, api::kPreempted);
  if (preempted == nullptr || preempted->status != api::ConditionStatus::kTrue) return "";
  std::string_view message = preempted->message;
  if (!message.starts_with(kPreemptedFor)) return "";
  message.remove_prefix(kPreemptedFor.size());
  const std::size_t end = message.find(',');
  return end == std::string_view::npos ? "" : message.substr(0, end);
}

api::Admission AdmissionOf(const Decision& decision, const Vocabulary& vocabulary,
                           const std::string& queue_name) {
  api::Admission admission;
  admission.cluster_queue = queue_name;
  admission.pod_set_assignments.reserve(decision.assignment.pod_sets.size());
  for (const PodSetDecision& pod_set : decision.assignment.pod_sets) {
    api::PodSetAssignment& assigned = admission.pod_set_assignments.emplace_back();
    assigned.name = pod_set.name;
    assigned.count = pod_set.count;
    if (pod_set.topology != nullptr) assigned.topology_assignment = *pod_set.topology;
    assigned.delayed_topology_request = pod_set.delayed_topology;
    for (const FlavorChoice& choice : pod_set.flavors) {
      const std::string& resource = vocabulary.resources[choice.resource];
      Amount amount = 0;  // stays 0 for a leader without requests
      for (const ResourceRequest& request : pod_set.requests) {
        if (request.resource == choice.resource) amount = request.amount;
      }
      assigned.flavors[resource] = vocabulary.flavors[choice.flavor];
      assigned.resource_usage[resource] = amount;
    }
  }
  return admission;
}

std::string QuotaReservedMessage(const std::string& queue_name) {
  return "Quota reserved in ClusterQueue " + queue_name;
}

}  // namespace berth::admission

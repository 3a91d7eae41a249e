#include "admission/controller/notes/decision_note.h"

#include <utility>

#include "admission/controller/notes/explanation.h"
#include "admission/decision_facts.h"
#include "admission/messages.h"
#include "admission/pending_facts.h"

namespace berth::admission {
namespace {

// What stops of workloads like it have cost; null: unknown, or it claims no checkpoints.
std::unique_ptr<const StopCost> StopsOf(const Decision& decision, const Scheduler& scheduler) {
  if (decision.object == nullptr) return nullptr;
  const auto cost = scheduler.victim_rules().costs().Of(RestartCosts::KindOf(*decision.object));
  return cost ? std::make_unique<const StopCost>(*cost) : nullptr;
}

}  // namespace

std::shared_ptr<const DecisionNote> DecisionNote::Of(const Decision& decision,
                                                     const Scheduler& scheduler) {
  const std::string_view reason = PendingReason(decision);
  if (reason.empty()) return nullptr;
  return std::make_shared<const DecisionNote>(reason, decision, scheduler);
}

DecisionNote::DecisionNote(std::string_view reason, const Decision& decision,
                           const Scheduler& scheduler)
    : PendingNote(CauseOf(decision, scheduler.state().vocabulary())),
      reason_(reason),
      scheduler_(scheduler),
      cluster_queue_(decision.cluster_queue),
      outcome_(decision.outcome),
      remark_(decision.remark),
      victim_count_(static_cast<std::uint32_t>(decision.victims.size())),
      spared_(decision.spared.begin(), decision.spared.end()),
      forgotten_count_(scheduler.workloads().forgotten_count()) {
  for (const PodSetDecision& pod_set : decision.assignment.pod_sets) {
    pod_sets_.push_back({pod_set.name, pod_set.count, pod_set.requests, pod_set.obstacles});
  }
  if (pod_sets_.empty() || outcome_ == Outcome::kEvictForNodeFailure) object_ = decision.object;
  if (decision.held_for != nullptr) object_ = decision.held_for;
  stops_ = StopsOf(decision, scheduler);
  remark_at_ = decision.remark_at;
}

Decision DecisionNote::ToDecision() const {
  Decision decision;
  decision.object = object_;
  decision.cluster_queue = cluster_queue_;
  decision.outcome = outcome_;
  decision.remark = remark_;
  decision.remark_at = remark_at_;
  decision.assignment.pod_sets.reserve(pod_sets_.size());
  for (const PodSetNote& noted : pod_sets_) {
    PodSetDecision& pod_set = decision.assignment.pod_sets.emplace_back();
    pod_set.name = noted.name;
    pod_set.count = noted.count;
    pod_set.requests = noted.requests;
    pod_set.obstacles = noted.obstacles;
  }
  return decision;
}

std::string DecisionNote::message() const {
  PendingFacts facts;
  facts.outcome = outcome_;
  facts.remark = remark_;
  for (const PodSetNote& pod_set : pod_sets_) {
    facts.pod_sets.push_back({pod_set.name, pod_set.obstacles});
  }
  facts.victim_count = victim_count_;
  facts.spares_foreign_owners = SparesForeignOwners(spared_);
  facts.object = object_.get();
  facts.remark_at = remark_at_;
  return PendingMessage(facts, scheduler_.state().vocabulary(),
                        scheduler_.state().queue(cluster_queue_).name);
}

std::vector<api::PodSetRequests> DecisionNote::resource_requests() const {
  std::vector<api::PodSetRequests> requests;
  for (auto& [pods, amounts] : RequestsOf(ToDecision(), scheduler_.state().vocabulary())) {
    requests.push_back({pods, std::move(amounts)});
  }
  return requests;
}

std::string DecisionNote::explanation() const {
  Decision decision = ToDecision();
  for (const SparedCandidate& spared : spared_) {
    if (scheduler_.workloads().IsSameSince(spared.workload, forgotten_count_)) {
      decision.spared.push_back(spared);
    }
  }
  return ExplanationJson(decision, stops_.get(), scheduler_);
}

}  // namespace berth::admission

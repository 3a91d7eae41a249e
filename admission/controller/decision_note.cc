#include "admission/controller/decision_note.h"

#include <utility>

#include "admission/controller/decision_facts.h"
#include "admission/controller/explanation.h"
#include "admission/messages.h"

namespace berth::admission {
namespace {

// An object kept here would stay in memory for as long as its workload waits.
Decision WithoutObjects(const Decision& decision) {
  Decision kept;
  kept.workload = decision.workload;
  kept.cluster_queue = decision.cluster_queue;
  kept.outcome = decision.outcome;
  kept.remark = decision.remark;
  kept.assignment.pod_sets = decision.assignment.pod_sets;
  kept.spared = decision.spared;
  for (const Victim& victim : decision.victims) {
    kept.victims.push_back(
        {victim.workload, nullptr, victim.cluster_queue, victim.reason, victim.ongoing});
  }
  const bool read =
      kept.assignment.pod_sets.empty() || decision.outcome == Outcome::kEvictForNodeFailure;
  if (read) kept.object = decision.object;
  return kept;
}

}  // namespace

std::shared_ptr<const DecisionNote> DecisionNote::Of(const Decision& decision,
                                                     const Scheduler& scheduler) {
  std::string reason = PendingReason(decision);
  if (reason.empty()) return nullptr;
  return std::make_shared<const DecisionNote>(std::move(reason), decision, scheduler);
}

DecisionNote::DecisionNote(std::string reason, const Decision& decision, const Scheduler& scheduler)
    : PendingNote(std::move(reason), CauseOf(decision)),
      decision_(WithoutObjects(decision)),
      scheduler_(scheduler),
      forgotten_count_(scheduler.forgotten_count()) {}

std::string DecisionNote::message() const {
  return PendingMessage(decision_, scheduler_.vocabulary(),
                        scheduler_.state().queue(decision_.cluster_queue).name);
}

std::map<std::string, api::ResourceAmounts> DecisionNote::resource_requests() const {
  return RequestsOf(decision_, scheduler_.vocabulary());
}

std::string DecisionNote::explanation() const {
  if (scheduler_.forgotten_count() == forgotten_count_) {
    return ExplanationJson(decision_, scheduler_);
  }
  Decision told = decision_;
  erase_if(told.spared, [this](const SparedCandidate& spared) {
    return !scheduler_.IsSameSince(spared.workload, forgotten_count_);
  });
  return ExplanationJson(told, scheduler_);
}

}  // namespace berth::admission

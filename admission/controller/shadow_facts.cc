// What the incumbent does: its admissions and preemptions are compared, everything is adopted.
#include <algorithm>
#include <utility>

#include "admission/controller/shadow.h"
#include "admission/messages.h"
#include "api/reasons.h"
#include "queue/workload_info.h"

namespace berth::admission {
namespace {

bool HasQuota(const api::Workload& workload) {
  return workload.status.admission && api::IsTrue(workload.status.conditions, api::kQuotaReserved);
}

bool IsEvicted(const api::Workload& workload) {
  return api::IsTrue(workload.status.conditions, api::kEvicted);
}

}  // namespace

Shadow::Fact Shadow::FactOf(const api::Workload& before, const api::Workload& after) {
  if (before.meta.uid != after.meta.uid || api::IsTrue(after.status.conditions, api::kFinished)) {
    return Fact::kNone;
  }
  if (HasQuota(after) && !HasQuota(before)) return Fact::kReserved;
  const api::Condition* evicted = api::FindCondition(after.status.conditions, api::kEvicted);
  const bool preempted = evicted != nullptr && evicted->status == api::ConditionStatus::kTrue &&
                         evicted->reason == api::kPreempted;
  return preempted && HasQuota(before) && !IsEvicted(before) ? Fact::kPreempted : Fact::kNone;
}

void Shadow::OnUpdate(const WorkloadPtr& before, const WorkloadPtr& after) {
  const api::ObjectKey key = after->meta.key();
  const Fact fact = pace_.running() ? FactOf(*before, *after) : Fact::kNone;
  if (fact != Fact::kNone) return OnFact(fact, after);
  if (const auto held = held_.find(key); held != held_.end()) {
    const bool goes_on =
        held->second.fact == Fact::kReserved ? HasQuota(*after) : IsEvicted(*after);
    if (goes_on && !api::IsTrue(after->status.conditions, api::kFinished)) {
      held->second.object = after;
      return;
    }
    held_.erase(held);
    report_.AddOvertaken();
  }
  if (const auto left = left_waiting_.find(key); left != left_waiting_.end()) {
    // Another question than the one that was compared.
    if (!queue::BelongsInQueue(*after) || left->second.generation != after->meta.generation) {
      left_waiting_.erase(left);
    } else if (left->second.aside) {
      return;
    }
  }
  // The victim's future state stays assumed while the decision is open.
  const auto preemptor = preemptor_of_.find(key);
  if (preemptor != preemptor_of_.end() && HasQuota(*after) && !IsEvicted(*after) &&
      !api::IsTrue(after->status.conditions, api::kFinished)) {
    return;
  }
  OnEnded(after);
  Adopt(after);
  Changed();
}

// Closes what cannot be compared any more.
void Shadow::OnEnded(const WorkloadPtr& object) {
  const api::ObjectKey key = object->meta.key();
  if (admissions_.contains(key) && !queue::BelongsInQueue(*object)) {
    admissions_.erase(key);
    report_.AddOvertaken();
  }
  if (preemptions_.contains(key) && !queue::BelongsInQueue(*object)) {
    RestoreVictims(preemptions_[key]);
    preemptions_.erase(key);
    report_.AddOvertaken();
  }
  if (const auto preemptor = preemptor_of_.find(key); preemptor != preemptor_of_.end()) {
    const api::ObjectKey by = preemptor->second;
    VictimState& state = preemptions_[by].victims[key];
    if (state == VictimState::kRuns) state = VictimState::kEnded;
    CloseIfComplete(by);
  }
  ShowOpen();
}

void Shadow::OnDelete(const api::Workload& object) {
  const api::ObjectKey key = object.meta.key();
  if (held_.erase(key) > 0) report_.AddOvertaken();
  auto ended = std::make_shared<api::Workload>(object);
  ended->spec.active = false;  // it belongs in no queue
  OnEnded(ended);
  left_waiting_.erase(key);
  notes_.erase(key);
  scheduler_.ForgetWorkload(key);
  Changed();
}

void Shadow::Adopt(const WorkloadPtr& object) {
  if (!queue::BelongsInQueue(*object)) notes_.erase(object->meta.key());
  scheduler_.ApplyWorkload(object, clock_.Now());
}

void Shadow::OnFact(Fact fact, const WorkloadPtr& object) {
  held_.erase(object->meta.key());
  if (!Compare(fact, object)) {
    // The incumbent did not wait for company with its parked workloads.
    if (scheduler_.HasWakeUps()) scheduler_.RunWakeUps(clock_.Now());
    RunCyclesNow();
    if (!Compare(fact, object)) Hold(fact, object);
  }
  Changed();
}

bool Shadow::Compare(Fact fact, const WorkloadPtr& object) {
  return fact == Fact::kReserved ? CompareReserved(object) : ComparePreempted(object);
}

void Shadow::Hold(Fact fact, const WorkloadPtr& object) {
  const std::uint64_t ticket = next_ticket_++;
  held_[object->meta.key()] = {
      .ticket = ticket, .fact = fact, .object = object, .judged = !IsFull()};
  After(options_.settle, object->meta.key(), ticket, &Shadow::OnSettled);
}

// Berth has not decided the same: the incumbent alone acts.
void Shadow::OnSettled(const api::ObjectKey& key, std::uint64_t ticket) {
  const auto found = held_.find(key);
  if (found == held_.end() || found->second.ticket != ticket) return;
  const HeldFact held = std::move(found->second);
  held_.erase(found);
  if (!held.judged) {
    report_.AddUnjudged();
    Adopt(held.object);
    return Changed();
  }
  const bool reserved = held.fact == Fact::kReserved;
  const api::ObjectKey about = reserved ? key : PreemptorOf(*held.object);
  ShadowComparison comparison{
      .subject = reserved ? ShadowSubject::kAdmission : ShadowSubject::kPreemption,
      .result = ShadowResult::kOnlyIncumbent,
      .workload = about,
      .uid = reserved ? held.object->meta.uid : std::string(PreemptorUidOf(*held.object)),
      .berth = WaitingSide(about),
      .incumbent = SideOf(*held.object)};
  report_.Add(std::move(comparison));
  Adopt(held.object);
  Changed();
}

bool Shadow::CompareReserved(const WorkloadPtr& object) {
  const api::ObjectKey key = object->meta.key();
  ShadowSide incumbent = SideOf(*object);
  const auto left = left_waiting_.find(key);
  if (left != left_waiting_.end()) {
    report_.Follow(left->second.report, std::move(incumbent));
    left_waiting_.erase(left);
    admissions_.erase(key);
    if (const auto open = preemptions_.find(key); open != preemptions_.end()) {
      RestoreVictims(open->second);
      preemptions_.erase(open);
    }
  } else if (const auto open = admissions_.find(key); open != admissions_.end()) {
    const bool same = SameShares(*open->second.berth.admission, *object->status.admission);
    report_.Add({.subject = ShadowSubject::kAdmission,
                 .result = same ? ShadowResult::kSame : ShadowResult::kDiffers,
                 .workload = key,
                 .uid = open->second.uid,
                 .rule = open->second.rule,
                 .berth = std::move(open->second.berth),
                 .incumbent = std::move(incumbent)});
    admissions_.erase(open);
  } else if (preemptions_.contains(key)) {
    Close(key, ShadowResult::kDiffers, std::move(incumbent));
  } else {
    return false;
  }
  Adopt(object);
  ShowOpen();
  return true;
}

bool Shadow::ComparePreempted(const WorkloadPtr& object) {
  const api::ObjectKey key = object->meta.key();
  const api::ObjectKey preemptor = PreemptorOf(*object);
  if (const auto found = preemptor_of_.find(key); found != preemptor_of_.end()) {
    const api::ObjectKey berths = found->second;
    OpenPreemption& open = preemptions_[berths];
    open.victims[key] = VictimState::kPreempted;
    const std::string_view uid = PreemptorUidOf(*object);
    if (!uid.empty() && uid != open.uid) {
      open.for_another = preemptor.ToString();
      NotePreemptedFor(preemptor, object);
    }
    Adopt(object);
    CloseIfComplete(berths);
    return true;
  }
  if (!preemptions_.contains(preemptor) && !left_waiting_.contains(preemptor)) return false;
  NotePreemptedFor(preemptor, object);
  Adopt(object);
  return true;
}

// The incumbent preempted a workload that Berth would not have preempted for this preemptor.
void Shadow::NotePreemptedFor(const api::ObjectKey& preemptor, const WorkloadPtr& victim) {
  if (const auto open = preemptions_.find(preemptor); open != preemptions_.end()) {
    open->second.others.push_back(victim->meta.key().ToString());
  } else if (const auto left = left_waiting_.find(preemptor); left != left_waiting_.end()) {
    report_.Follow(left->second.report, SideOf(*victim));
    // The preemptor competes for what its victim releases.
    left->second.aside = false;
    if (const auto waiting = workloads_.Get(preemptor)) Adopt(waiting);
  }
}

// A preemption with other victims stays open: Berth's victims may follow.
void Shadow::CloseIfComplete(const api::ObjectKey& preemptor) {
  const auto found = preemptions_.find(preemptor);
  if (found == preemptions_.end()) return;
  const OpenPreemption& open = found->second;
  const auto in = [&open](VictimState wanted) {
    return std::count_if(open.victims.begin(), open.victims.end(),
                         [wanted](const auto& victim) { return victim.second == wanted; });
  };
  if (in(VictimState::kRuns) > 0) return;
  if (in(VictimState::kPreempted) == 0) {
    RestoreVictims(open);
    preemptions_.erase(found);
    report_.AddOvertaken();
    return ShowOpen();
  }
  ShadowSide incumbent{.at = clock_.Now(), .verdict = "preempting", .preempted = open.others};
  for (const auto& [victim, state] : open.victims) {
    if (state == VictimState::kPreempted) incumbent.preempted.push_back(victim.ToString());
  }
  if (!open.for_another.empty()) incumbent.message = "preempted for " + open.for_another;
  const bool same = open.others.empty() && open.for_another.empty();
  Close(preemptor, same ? ShadowResult::kSame : ShadowResult::kDiffers, std::move(incumbent));
}

std::uint64_t Shadow::Close(const api::ObjectKey& preemptor, ShadowResult result,
                            ShadowSide incumbent) {
  const auto found = preemptions_.find(preemptor);
  const OpenPreemption open = std::move(found->second);
  preemptions_.erase(found);
  RestoreVictims(open);
  ShowOpen();
  // A repeated decision.
  if (const auto known = left_waiting_.find(preemptor); known != left_waiting_.end()) {
    const std::uint64_t number = known->second.report;
    if (incumbent.at) report_.Follow(number, std::move(incumbent));
    return number;
  }
  return report_.Add({.subject = ShadowSubject::kPreemption,
                      .result = result,
                      .workload = preemptor,
                      .uid = open.uid,
                      .rule = open.rule,
                      .berth = open.berth,
                      .incumbent = std::move(incumbent)});
}

// The victims that the incumbent lets run go on running.
void Shadow::RestoreVictims(const OpenPreemption& open) {
  for (const auto& [victim, state] : open.victims) {
    preemptor_of_.erase(victim);
    if (state != VictimState::kRuns) continue;
    if (const auto object = workloads_.Get(victim)) Adopt(object);
  }
}

ShadowSide Shadow::SideOf(const api::Workload& object) const {
  if (HasQuota(object) && IsEvicted(object) && !PreemptorUidOf(object).empty()) {
    const api::Condition* preempted = api::FindCondition(object.status.conditions, api::kPreempted);
    return {.at = clock_.Now(),
            .verdict = "preempting",
            .preempted = {object.meta.key().ToString()},
            .reason = preempted->reason,
            .message = preempted->message};
  }
  if (HasQuota(object)) {
    return {.at = clock_.Now(), .verdict = "reserved", .admission = object.status.admission};
  }
  ShadowSide side{.verdict = "waiting"};
  const api::Condition* waits = api::FindCondition(object.status.conditions, api::kQuotaReserved);
  if (waits != nullptr) {
    side.reason = waits->reason;
    side.message = waits->message;
  }
  return side;
}

ShadowSide Shadow::WaitingSide(const api::ObjectKey& key) const {
  ShadowSide side{.verdict = "waiting"};
  if (const auto note = notes_.find(key); note != notes_.end()) {
    side.reason = note->second->reason();
    side.message = note->second->message();
  } else {
    side.message = "other workloads come first in its ClusterQueue, or Berth does not queue it";
  }
  return side;
}

// The preemptor is found by its UID; the victim itself where the preemptor is unknown.
api::ObjectKey Shadow::PreemptorOf(const api::Workload& victim) const {
  const std::string_view uid = PreemptorUidOf(victim);
  if (uid.empty()) return victim.meta.key();
  const auto preemptors = workloads_.ByIndex(kShadowByUid, std::string(uid));
  return preemptors.empty() ? victim.meta.key() : preemptors.front()->meta.key();
}

}  // namespace berth::admission

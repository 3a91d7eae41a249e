#include "admission/controller/notes/pending_notes.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "admission/bypassed_message.h"
#include "admission/controller/notes/history_json.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "kube/runtime/refused_write.h"

namespace berth::admission {
namespace {

constexpr int kMaxFailures = 5;
constexpr Duration kBusyWait = std::chrono::milliseconds(50);
constexpr Duration kRetryWait = std::chrono::seconds(1);

// The pause after so many failures in a row.
Duration RetryWait(int failures) {
  constexpr int kDoublings = 5;
  return kRetryWait * (1 << std::min(failures - 1, kDoublings));
}

bool HasAnnotation(const api::Workload& workload, const char* name, const std::string& text) {
  const std::string* known = api::FindValue(workload.meta.annotations, name);
  return known != nullptr && *known == text;
}

std::int64_t AttemptsIn(const ReasonHistory& history) {
  std::int64_t count = 0;
  for (const PastReason& past : history.reasons()) count += past.count;
  return count;
}

// Whether the workload waits for the scheduler.
bool Waits(const api::Workload& workload) {
  return workload.spec.active && !workload.meta.deletion_timestamp &&
         !api::IsTrue(workload.status.conditions, api::kFinished) &&
         !api::IsTrue(workload.status.conditions, api::kQuotaReserved);
}

// The frequent case: nothing to copy, nothing to write.
bool Says(const api::Workload& workload, const PendingNote& note, const std::string& message) {
  const api::Condition* told = api::FindCondition(workload.status.conditions, api::kQuotaReserved);
  return told != nullptr && told->status == api::ConditionStatus::kFalse &&
         told->reason == note.reason() && told->message == message;
}

// Whether the scheduler has written its verdict on this generation.
bool HasVerdict(const api::Workload& workload) {
  const api::Condition* told = api::FindCondition(workload.status.conditions, api::kQuotaReserved);
  if (told == nullptr || told->observed_generation != workload.meta.generation) return false;
  const std::initializer_list<const char*> verdicts = {api::kWaitingForQuota,
                                                       api::kNoMatchingFlavor,
                                                       api::kExceedsMaxQuota,
                                                       api::kTopologyPlacementFailed,
                                                       api::kWaitingForPreemptedWorkloads,
                                                       api::kWaitingForPodsReady};
  return std::find(verdicts.begin(), verdicts.end(), told->reason) != verdicts.end();
}

}  // namespace

PendingNotes::PendingNotes(kube::Informer<api::Workload>& workloads, WorkloadWriter& writer,
                           kube::EventRecorder& events, const Clock& clock, Executor& executor)
    : workloads_(workloads),
      writer_(writer),
      events_(events),
      clock_(clock),
      executor_(executor),
      self_(std::make_shared<PendingNotes*>(this)) {
  writer_.OnAnswer(clock_, [weak = std::weak_ptr(self_)](Duration latency) {
    const auto self = weak.lock();
    if (self != nullptr) (*self)->pace_.OnAnswer((*self)->clock_.SteadyNow(), latency);
  });
}

void PendingNotes::Note(const api::ObjectKey& key, std::shared_ptr<const PendingNote> note,
                        Verdict verdict) {
  const auto [found, is_new] = notes_.try_emplace(key);
  Entry& entry = found->second;
  if (is_new) Remember(key, entry);
  if (verdict == Verdict::kItsOwn) entry.tried = true;
  entry.history.Note(note, clock_.Now());
  // A new text waits for its interval, a new reason does not; after a failure both wait.
  const bool is_text = entry.note != nullptr && entry.note->reason() == note->reason();
  entry.note = std::move(note);
  if (entry.writing) return;  // the end of the write looks at the latest note
  if (entry.delayed && (is_text || entry.failures > 0)) {
    const auto workload = workloads_.Get(key);
    if (entry.failures > 0 || workload == nullptr || !PlanIsDue(*workload, entry)) return;
  }
  entry.delayed = false;
  Queue(key, entry);
}

void PendingNotes::Renew(const api::ObjectKey& key) {
  const auto found = notes_.find(key);
  if (found == notes_.end() || found->second.writing || found->second.failures > 0) return;
  found->second.delayed = false;
  Queue(key, found->second);
}

void PendingNotes::Remember(const api::ObjectKey& key, Entry& entry) {
  const auto workload = workloads_.Get(key);
  if (workload == nullptr) return;
  const std::string* known =
      api::FindValue(workload->meta.annotations, api::kExplanationAnnotation);
  if (known != nullptr) RestoreHistory(*known, entry.history);
  entry.told = AttemptsIn(entry.history);
  entry.told_at = clock_.SteadyNow();
}

void PendingNotes::Forget(const api::ObjectKey& key) {
  notes_.erase(key);  // its keys in the queues are skipped
}

// The reason of a workload that was parked in bulk is known from the equal one that was tried.
PendingNotes::Rank PendingNotes::RankOf(const api::Workload& workload, Entry& entry) const {
  const api::Condition* told = api::FindCondition(workload.status.conditions, api::kQuotaReserved);
  const bool is_first = told == nullptr || told->status != api::ConditionStatus::kFalse;
  const bool is_fact = (entry.tried && is_first) || PlanIsDue(workload, entry);
  return is_fact ? Rank::kFact : Rank::kCommentary;
}

void PendingNotes::Queue(const api::ObjectKey& key, Entry& entry) {
  if (entry.waiting == Rank::kFact) return;
  const auto workload = workloads_.Get(key);
  const Rank rank = workload == nullptr ? Rank::kCommentary : RankOf(*workload, entry);
  if (entry.waiting == rank) return;
  entry.waiting = rank;
  (rank == Rank::kFact ? facts_ : commentary_).push_back(key);
  Pump();
}

PendingNotes::Notes::iterator PendingNotes::First(std::deque<api::ObjectKey>& queue, Rank rank) {
  for (; !queue.empty(); queue.pop_front()) {
    const auto found = notes_.find(queue.front());
    if (found != notes_.end() && found->second.waiting == rank) return found;
  }
  return notes_.end();
}

void PendingNotes::Pump() {
  while (in_flight_ < kMaxInFlight) {
    const SteadyTime now = clock_.SteadyNow();
    Rank rank = Rank::kFact;
    auto next = First(facts_, rank);
    const auto comment = First(commentary_, Rank::kCommentary);
    if (comment != notes_.end() && (next == notes_.end() || pace_.CommentaryIsDue(now))) {
      rank = Rank::kCommentary;
      next = comment;
    }
    if (next == notes_.end()) return;
    if (writer_.backlog() >= kBusyBacklog) return PumpAfter(kBusyWait);
    if (const Duration wait = pace_.Take(now, rank); wait > Duration::zero()) {
      return PumpAfter(wait);
    }
    (rank == Rank::kFact ? facts_ : commentary_).pop_front();
    next->second.waiting.reset();
    const api::ObjectKey key = next->first;
    if (!Write(key, next->second)) pace_.GiveBack();
  }
}

void PendingNotes::PumpAfter(Duration wait) {
  if (std::exchange(pump_posted_, true)) return;
  executor_.PostAfter(wait, [weak = std::weak_ptr(self_)] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    (*self)->pump_posted_ = false;
    (*self)->Pump();
  });
}

bool PendingNotes::Write(const api::ObjectKey& key, Entry& entry) {
  const auto workload = workloads_.Get(key);
  if (workload == nullptr || !Waits(*workload)) {
    notes_.erase(key);
    return false;
  }
  if (!entry.tried && HasVerdict(*workload)) {
    notes_.erase(key);
    return false;
  }
  const std::string message = entry.tried ? entry.note->message() : kBypassedMessage;
  const auto annotate = [&] {
    if (entry.annotating) return false;
    const bool due = entry.annotation_due || HistoryIsOld(entry) || PlanIsDue(*workload, entry);
    return due && Annotate(*workload, entry);
  };
  const auto settle = [&] {
    if (entry.event_due) RecordEvent(*workload, entry, message);
    return annotate();
  };
  if (Says(*workload, *entry.note, message)) return settle();
  api::WorkloadStatus status = workload->status;
  const Difference difference =
      SetUnadmitted(status, entry.note->reason(), message, workload->meta.generation, clock_.Now());
  if (difference == Difference::kNone) return settle();
  const Duration since = clock_.SteadyNow() - entry.written_at;
  if (difference == Difference::kMessage && entry.written && since < kMessageInterval) {
    Later(key, entry, kMessageInterval - since);
    return annotate();
  }
  status.resource_requests = entry.note->resource_requests();
  entry.writing = true;
  entry.written = true;
  entry.written_at = clock_.SteadyNow();
  ++in_flight_;
  RecordEvent(*workload, entry, message);
  writer_.ApplyStatus(*workload, status, [weak = std::weak_ptr(self_), key](const Status& done) {
    if (const auto self = weak.lock()) (*self)->OnWritten(key, done);
  });
  return true;
}

void PendingNotes::RecordEvent(const api::Workload& workload, Entry& entry,
                               const std::string& message) {
  entry.event_due = !entry.tried;
  if (!entry.tried) return;
  const std::string reason(entry.note->reason());
  events_.Record(kube::ReferenceTo(workload), kube::EventType::kWarning, reason, reason, message,
                 kube::EventRank::kCommentary);
}

void PendingNotes::OnWritten(const api::ObjectKey& key, const Status& status) {
  --in_flight_;
  if (const auto found = notes_.find(key); found != notes_.end()) {
    Entry& entry = found->second;
    entry.writing = false;
    if (status) entry.annotation_due = true;
    entry.failures = status ? 0 : entry.failures + 1;
    if (!status && kube::IsRefusal(status.error()) && entry.failures > kMaxFailures) {
      notes_.erase(found);  // the scheduler's next attempt makes another note
    } else {
      // Checks again: the note, or the object, may be newer than the written one.
      Later(key, entry, status ? Duration::zero() : RetryWait(entry.failures));
    }
  }
  Pump();
}

// Amounts for readers of the annotation; the condition has the reason even if this write fails.
bool PendingNotes::Annotate(const api::Workload& workload, Entry& entry) {
  entry.annotation_due = false;
  entry.told = AttemptsIn(entry.history);
  entry.told_at = clock_.SteadyNow();
  const std::string explanation = WithHistory(entry.note->explanation(), entry.history);
  WorkloadWriter::Annotations changes;
  if (!explanation.empty() && !HasAnnotation(workload, api::kExplanationAnnotation, explanation)) {
    changes[api::kExplanationAnnotation] = explanation;
  }
  const std::string* plan = PlanOf(workload, entry);
  if (plan != nullptr && !HasAnnotation(workload, api::kPreemptionPlanAnnotation, *plan)) {
    changes[api::kPreemptionPlanAnnotation] = *plan;
  }
  if (changes.empty()) return false;
  if (plan == nullptr && workload.meta.annotations.contains(api::kPreemptionPlanAnnotation)) {
    changes[api::kPreemptionPlanAnnotation] = std::nullopt;
  }
  entry.annotating = true;
  writer_.Annotate(workload, changes,
                   [weak = std::weak_ptr(self_), key = workload.meta.key()](const Status& done) {
                     if (const auto self = weak.lock()) (*self)->OnAnnotated(key, done);
                   });
  return true;
}

void PendingNotes::OnAnnotated(const api::ObjectKey& key, const Status& status) {
  const auto found = notes_.find(key);
  if (found == notes_.end()) return;
  Entry& entry = found->second;
  entry.annotating = false;
  if (!status) {
    if (entry.failures >= kMaxFailures) return;  // the next note tries again
    ++entry.failures;
    entry.annotation_due = true;
    if (!entry.writing) Later(key, entry, RetryWait(entry.failures));
    return;
  }
  entry.failures = 0;
  const auto workload = workloads_.Get(key);  // its plan may have changed meanwhile
  if (!entry.writing && workload != nullptr && PlanIsDue(*workload, entry)) Queue(key, entry);
}

const std::string* PendingNotes::PlanOf(const api::Workload& workload, Entry& entry) const {
  const std::optional<PlanStamp> stamp =
      plans_.stamp ? plans_.stamp(workload) : std::optional<PlanStamp>();
  if (stamp != entry.plan_stamp) {
    entry.plan_stamp = stamp;
    entry.plan_text = stamp ? plans_.text(workload) : std::string();
  }
  return stamp ? &entry.plan_text : nullptr;
}

bool PendingNotes::PlanIsDue(const api::Workload& workload, Entry& entry) const {
  const std::string* plan = PlanOf(workload, entry);
  return plan != nullptr && !HasAnnotation(workload, api::kPreemptionPlanAnnotation, *plan);
}

bool PendingNotes::HistoryIsOld(const Entry& entry) const {
  return entry.history.IsStory() && AttemptsIn(entry.history) != entry.told &&
         clock_.SteadyNow() - entry.told_at >= kHistoryInterval;
}

void PendingNotes::Later(const api::ObjectKey& key, Entry& entry, Duration delay) {
  entry.delayed = true;
  executor_.PostAfter(delay, [weak = std::weak_ptr(self_), key] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    const auto found = (*self)->notes_.find(key);
    if (found == (*self)->notes_.end() || !std::exchange(found->second.delayed, false)) return;
    if (!found->second.writing) (*self)->Queue(key, found->second);
  });
}

}  // namespace berth::admission

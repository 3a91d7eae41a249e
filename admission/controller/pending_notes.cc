#include "admission/controller/pending_notes.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "admission/controller/history_json.h"
#include "api/labels.h"
#include "api/reasons.h"

namespace berth::admission {
namespace {

constexpr int kMaxFailures = 5;
// Kueue's words for a workload that was parked because an equal workload got nothing.
constexpr char kBypassed[] =
    "Bypassed scheduling evaluation because an equivalent workload recently failed";
constexpr Duration kBusyWait = std::chrono::milliseconds(50);
constexpr Duration kRetryWait = std::chrono::seconds(1);

std::int64_t Attempts(const ReasonHistory& history) {
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
      self_(std::make_shared<PendingNotes*>(this)) {}

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
  if (entry.waiting || entry.writing) return;  // the write under way or due takes the latest note
  if (entry.delayed && (is_text || entry.failures > 0)) return;
  entry.delayed = false;
  entry.waiting = true;
  order_.push_back(key);
  Pump();
}

void PendingNotes::Remember(const api::ObjectKey& key, Entry& entry) {
  const auto workload = workloads_.Get(key);
  if (workload == nullptr) return;
  const std::string* known =
      api::FindValue(workload->meta.annotations, api::kExplanationAnnotation);
  if (known != nullptr) RestoreHistory(*known, entry.history);
  entry.told = Attempts(entry.history);
  entry.told_at = clock_.SteadyNow();
}

void PendingNotes::Forget(const api::ObjectKey& key) {
  notes_.erase(key);  // its key in order_ is skipped
}

void PendingNotes::Pump() {
  while (!order_.empty() && in_flight_ < kMaxInFlight) {
    if (writer_.backlog() >= kBusyBacklog) {
      if (std::exchange(pump_posted_, true)) return;
      executor_.PostAfter(kBusyWait, [weak = std::weak_ptr(self_)] {
        const auto self = weak.lock();
        if (self == nullptr) return;
        (*self)->pump_posted_ = false;
        (*self)->Pump();
      });
      return;
    }
    const api::ObjectKey key = std::move(order_.front());
    order_.pop_front();
    const auto found = notes_.find(key);
    if (found == notes_.end() || !std::exchange(found->second.waiting, false)) continue;
    Write(key, found->second);
  }
}

void PendingNotes::Write(const api::ObjectKey& key, Entry& entry) {
  const auto workload = workloads_.Get(key);
  if (workload == nullptr || !Waits(*workload)) {
    notes_.erase(key);
    return;
  }
  if (!entry.tried && HasVerdict(*workload)) {
    notes_.erase(key);
    return;
  }
  const std::string message = entry.tried ? entry.note->message() : kBypassed;
  const auto settle = [&] {
    if (entry.event_due) RecordEvent(*workload, entry, message);
    if (HistoryIsOld(entry)) Annotate(key, entry);
  };
  if (Says(*workload, *entry.note, message)) return settle();
  api::WorkloadStatus status = workload->status;
  const Difference difference =
      SetUnadmitted(status, entry.note->reason(), message, workload->meta.generation, clock_.Now());
  if (difference == Difference::kNone) return settle();
  const Duration since = clock_.SteadyNow() - entry.written_at;
  if (difference == Difference::kMessage && entry.written && since < kMessageInterval) {
    return Later(key, entry, kMessageInterval - since);
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
}

void PendingNotes::RecordEvent(const api::Workload& workload, Entry& entry,
                               const std::string& message) {
  entry.event_due = !entry.tried;
  if (!entry.tried) return;
  const std::string reason(entry.note->reason());
  events_.Record(kube::ReferenceTo(workload), kube::EventType::kWarning, reason, reason, message);
}

void PendingNotes::OnWritten(const api::ObjectKey& key, const Status& status) {
  --in_flight_;
  if (const auto found = notes_.find(key); found != notes_.end()) {
    Entry& entry = found->second;
    entry.writing = false;
    if (status) Annotate(key, entry);
    entry.failures = status ? 0 : entry.failures + 1;
    if (!status && entry.failures > kMaxFailures) {
      notes_.erase(found);  // the scheduler's next attempt makes another note
    } else {
      // Checks again: the note, or the object, may be newer than the written one.
      Later(key, entry, status ? Duration::zero() : kRetryWait);
    }
  }
  Pump();
}

// Amounts for readers of the annotation; the condition has the reason even if this write fails.
void PendingNotes::Annotate(const api::ObjectKey& key, Entry& entry) {
  entry.told = Attempts(entry.history);
  entry.told_at = clock_.SteadyNow();
  const std::string explanation = WithHistory(entry.note->explanation(), entry.history);
  const auto workload = workloads_.Get(key);
  if (workload == nullptr) return;
  const auto stands = [&workload](const char* annotation, const std::string& text) {
    const std::string* known = api::FindValue(workload->meta.annotations, annotation);
    return known != nullptr && *known == text;
  };
  WorkloadWriter::Annotations changes;
  if (!explanation.empty() && !stands(api::kExplanationAnnotation, explanation)) {
    changes[api::kExplanationAnnotation] = explanation;
  }
  const std::optional<std::string> plan = plan_text_ ? plan_text_(*workload) : std::nullopt;
  if (plan && !stands(api::kPreemptionPlanAnnotation, *plan)) {
    changes[api::kPreemptionPlanAnnotation] = plan;
  }
  if (changes.empty()) return;
  if (!plan && workload->meta.annotations.contains(api::kPreemptionPlanAnnotation)) {
    changes[api::kPreemptionPlanAnnotation] = std::nullopt;
  }
  writer_.Annotate(*workload, changes, [](const Status&) {});
}

bool PendingNotes::HistoryIsOld(const Entry& entry) const {
  return entry.history.IsStory() && Attempts(entry.history) != entry.told &&
         clock_.SteadyNow() - entry.told_at >= kHistoryInterval;
}

void PendingNotes::Later(const api::ObjectKey& key, Entry& entry, Duration delay) {
  entry.delayed = true;
  executor_.PostAfter(delay, [weak = std::weak_ptr(self_), key] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    const auto found = (*self)->notes_.find(key);
    if (found == (*self)->notes_.end() || !std::exchange(found->second.delayed, false)) return;
    if (found->second.waiting || found->second.writing) return;
    found->second.waiting = true;
    (*self)->order_.push_back(key);
    (*self)->Pump();
  });
}

}  // namespace berth::admission

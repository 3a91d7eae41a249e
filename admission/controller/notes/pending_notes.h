// admission/controller/notes/pending_notes.h — writes why Workloads wait, at a bounded rate.
//
// A new reason is written soon; a new text of the same reason at most every kMessageInterval per
// workload. Only a workload's latest note is written. Notes give way to decisions: few writes at
// once, none while the writer is busy, and no more than kube::WritePace lets through. The first
// reason of a workload that was tried, and a plan, are facts; everything else is commentary.
//
// An event goes with the condition, as in Kueue, for workloads that were tried. A workload that was
// parked in bulk with an equal one gets its event when it is tried.
//
// The reasons of each workload are kept in a bounded history
// (admission/workloads/reason_history.h). Each write puts the history into the annotation; a write
// for the history alone is made at most every kHistoryInterval. A restart reads the history from
// the annotation.
//
// Threads: one Executor.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>  // lookup only
#include <utility>

#include "admission/controller/notes/pending_note.h"
#include "admission/controller/workloads/workload_writer.h"
#include "admission/lifecycle/workload_lifecycle.h"
#include "admission/preemption/kept_plan.h"
#include "admission/workloads/reason_history.h"
#include "api/object_key_hash.h"
#include "base/clock.h"
#include "base/executor.h"
#include "kube/runtime/events.h"
#include "kube/runtime/write_pace.h"

namespace berth::admission {

class PendingNotes {
 public:
  static constexpr Duration kMessageInterval = std::chrono::seconds(30);
  static constexpr Duration kHistoryInterval = std::chrono::minutes(10);
  static constexpr std::size_t kMaxInFlight = 16;
  static constexpr std::size_t kBusyBacklog = 128;  // backlog of the writer

  PendingNotes(kube::Informer<api::Workload>& workloads, WorkloadWriter& writer,
               kube::EventRecorder& events, const Clock& clock, Executor& executor);

  // The annotation berth.dev/preemption-plan. The patch that writes the explanation writes the plan
  // too.
  struct PlanSource {
    // nullopt: no annotation. Asked with each note.
    std::function<std::optional<PlanStamp>(const api::Workload& workload)> stamp;
    std::function<std::string(const api::Workload& workload)> text;  // asked for each new stamp
  };
  void WritePlans(PlanSource plans) { plans_ = std::move(plans); }

  enum class Verdict : std::uint8_t { kItsOwn, kOfAnEqual };
  // Records the note of a waiting workload. Several workloads may share one note.
  void Note(const api::ObjectKey& key, std::shared_ptr<const PendingNote> note, Verdict verdict);
  // Another client has removed the condition: writes the latest note again.
  void Renew(const api::ObjectKey& key);
  bool Has(const api::ObjectKey& key) const { return notes_.count(key) > 0; }
  // The workload has quota, or is gone.
  void Forget(const api::ObjectKey& key);

  // For commentary that other parts write: the time until a write may begin. Zero: the write may
  // begin, and it is counted.
  Duration TakeCommentary() { return pace_.Take(clock_.SteadyNow(), Rank::kCommentary); }

  std::size_t size() const { return notes_.size(); }
  bool idle() const { return facts_.empty() && commentary_.empty() && in_flight_ == 0; }

 private:
  using Rank = kube::WritePace::Rank;
  struct Entry {
    std::shared_ptr<const PendingNote> note;
    ReasonHistory history;
    std::int64_t told = 0;  // attempts counted in the annotation
    SteadyTime told_at{};
    std::optional<Rank> waiting;  // in facts_ or commentary_
    bool writing = false;         // a write of the condition is under way
    bool annotating = false;      // a write of the annotations is under way
    bool delayed = false;         // a timer will put it into a queue
    bool annotation_due = false;
    bool written = false;
    bool tried = false;      // false: parked in bulk
    bool event_due = false;  // the condition was written without its event
    SteadyTime written_at{};
    int failures = 0;
    std::optional<PlanStamp> plan_stamp;  // the stamp of plan_text; nullopt: no plan
    std::string plan_text;
  };

  using Notes = std::unordered_map<api::ObjectKey, Entry, api::ObjectKeyHash>;

  void Remember(const api::ObjectKey& key, Entry& entry);  // reads the history from the annotation
  Rank RankOf(const api::Workload& workload, Entry& entry) const;
  void Queue(const api::ObjectKey& key, Entry& entry);
  // The entry of the first key of `queue` that waits with `rank`; skips the keys before it.
  Notes::iterator First(std::deque<api::ObjectKey>& queue, Rank rank);
  void Pump();
  void PumpAfter(Duration wait);
  // True: a write has begun.
  bool Write(const api::ObjectKey& key, Entry& entry);
  void RecordEvent(const api::Workload& workload, Entry& entry, const std::string& message);
  void Later(const api::ObjectKey& key, Entry& entry, Duration delay);
  void OnWritten(const api::ObjectKey& key, const Status& status);
  void OnAnnotated(const api::ObjectKey& key, const Status& status);
  bool Annotate(const api::Workload& workload, Entry& entry);
  bool HistoryIsOld(const Entry& entry) const;
  // The annotation of the present plan; null: none. Valid until the next call.
  const std::string* PlanOf(const api::Workload& workload, Entry& entry) const;
  // Whether the Workload lacks the annotation of its present plan.
  bool PlanIsDue(const api::Workload& workload, Entry& entry) const;

  kube::Informer<api::Workload>& workloads_;
  WorkloadWriter& writer_;
  kube::EventRecorder& events_;
  const Clock& clock_;
  Executor& executor_;
  Notes notes_;
  // Keys to write, oldest first; a key whose entry does not wait with this rank is skipped.
  std::deque<api::ObjectKey> facts_;
  std::deque<api::ObjectKey> commentary_;
  kube::WritePace pace_;
  PlanSource plans_;
  std::size_t in_flight_ = 0;
  bool pump_posted_ = false;
  std::shared_ptr<PendingNotes*> self_;
};

}  // namespace berth::admission

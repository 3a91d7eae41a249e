// admission/controller/pending_notes.h — writes why Workloads wait, at a bounded rate.
//
// A new reason is written soon; a new text of the same reason at most every kMessageInterval per
// workload. Only a workload's latest note is written. Notes give way to admissions: few writes at
// once, and none while the writer is busy.
//
// An event goes with the condition, as in Kueue, for workloads that were tried. A workload that was
// parked in bulk with an equal one gets its event when it is tried.
//
// The reasons of each workload are kept in a bounded history (admission/reason_history.h). Each
// write puts the history into the annotation; without another write, at most every
// kHistoryInterval. A restart reads the history from the annotation.
//
// Threads: one Executor.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "admission/controller/pending_note.h"
#include "admission/controller/workload_writer.h"
#include "admission/lifecycle/workload_lifecycle.h"
#include "admission/reason_history.h"
#include "base/clock.h"
#include "base/executor.h"
#include "kube/runtime/events.h"

namespace berth::admission {

class PendingNotes {
 public:
  static constexpr Duration kMessageInterval = std::chrono::seconds(30);
  static constexpr Duration kHistoryInterval = std::chrono::minutes(10);
  static constexpr std::size_t kMaxInFlight = 16;
  static constexpr std::size_t kBusyBacklog = 128;  // backlog of the writer

  PendingNotes(kube::Informer<api::Workload>& workloads, WorkloadWriter& writer,
               kube::EventRecorder& events, const Clock& clock, Executor& executor);

  // The text of the annotation berth.dev/preemption-plan; nullopt: no annotation. The patch that
  // writes the explanation writes the plan too.
  using PlanText = std::function<std::optional<std::string>(const api::Workload& workload)>;
  void WritePlans(PlanText text) { plan_text_ = std::move(text); }

  enum class Verdict : std::uint8_t { kItsOwn, kOfAnEqual };
  // Records the note of a waiting workload. Several workloads may share one note.
  void Note(const api::ObjectKey& key, std::shared_ptr<const PendingNote> note, Verdict verdict);
  bool Has(const api::ObjectKey& key) const { return notes_.count(key) > 0; }
  // The workload has quota, or is gone.
  void Forget(const api::ObjectKey& key);

  std::size_t size() const { return notes_.size(); }
  bool idle() const { return order_.empty() && in_flight_ == 0; }

 private:
  struct Entry {
    std::shared_ptr<const PendingNote> note;
    ReasonHistory history;
    std::int64_t told = 0;  // attempts counted in the annotation
    SteadyTime told_at{};
    bool waiting = false;  // true: in order_
    bool writing = false;
    bool delayed = false;  // a timer will put it into order_
    bool written = false;
    bool tried = false;      // false: parked in bulk
    bool event_due = false;  // condition was written without its event
    SteadyTime written_at{};
    int failures = 0;
  };

  void Remember(const api::ObjectKey& key, Entry& entry);  // reads the history from the annotation
  void Pump();
  void Write(const api::ObjectKey& key, Entry& entry);
  void RecordEvent(const api::Workload& workload, Entry& entry, const std::string& message);
  void Later(const api::ObjectKey& key, Entry& entry, Duration delay);
  void OnWritten(const api::ObjectKey& key, const Status& status);
  void Annotate(const api::ObjectKey& key, Entry& entry);
  bool HistoryIsOld(const Entry& entry) const;

  kube::Informer<api::Workload>& workloads_;
  WorkloadWriter& writer_;
  kube::EventRecorder& events_;
  const Clock& clock_;
  Executor& executor_;
  std::map<api::ObjectKey, Entry> notes_;
  std::deque<api::ObjectKey> order_;  // keys to write; without `waiting`: skipped
  PlanText plan_text_;
  std::size_t in_flight_ = 0;
  bool pump_posted_ = false;
  std::shared_ptr<PendingNotes*> self_;
};

}  // namespace berth::admission

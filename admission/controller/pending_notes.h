// admission/controller/pending_notes.h — writes why Workloads wait, without flooding the API.
//
// A new reason is written soon; a new text of the same reason at most every kMessageInterval per
// workload. Only the last word of each counts. Notes give way to admissions: few writes at once,
// and none while the writer is busy.
//
// Threads: one Executor.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "admission/controller/workload_writer.h"
#include "admission/lifecycle/workload_lifecycle.h"
#include "base/clock.h"
#include "base/executor.h"
#include "kube/runtime/events.h"

namespace berth::admission {

struct PendingNote {
  std::string reason;  // of QuotaReserved=False
  std::string message;
  std::map<std::string, api::ResourceAmounts> resource_requests;  // what each pod set asks
  std::string explanation;  // JSON for api::kExplanationAnnotation; empty: none
};

class PendingNotes {
 public:
  static constexpr Duration kMessageInterval = std::chrono::seconds(30);
  static constexpr std::size_t kMaxInFlight = 16;
  static constexpr std::size_t kBusyBacklog = 128;  // of the writer

  PendingNotes(kube::Informer<api::Workload>& workloads, WorkloadWriter& writer,
               kube::EventRecorder& events, const Clock& clock, Executor& executor);

  void Note(const api::ObjectKey& key, PendingNote note);
  // It has got quota, or is gone.
  void Forget(const api::ObjectKey& key);

  std::size_t size() const { return notes_.size(); }
  bool idle() const { return order_.empty() && in_flight_ == 0; }

 private:
  struct Entry {
    PendingNote note;
    bool waiting = false;  // in order_
    bool writing = false;
    bool delayed = false;  // a timer will put it into order_
    bool written = false;
    SteadyTime written_at{};
    int failures = 0;
  };

  void Pump();
  void Write(const api::ObjectKey& key, Entry& entry);
  void Later(const api::ObjectKey& key, Entry& entry, Duration delay);
  void OnWritten(const api::ObjectKey& key, const Status& status);
  void Annotate(const api::ObjectKey& key, const std::string& explanation);

  kube::Informer<api::Workload>& workloads_;
  WorkloadWriter& writer_;
  kube::EventRecorder& events_;
  const Clock& clock_;
  Executor& executor_;
  std::map<api::ObjectKey, Entry> notes_;
  std::deque<api::ObjectKey> order_;
  std::size_t in_flight_ = 0;
  bool pump_posted_ = false;
  std::shared_ptr<PendingNotes*> self_;
};

}  // namespace berth::admission

// kube/runtime/events.h — writes events.k8s.io/v1 Events about objects.
//
// Recording never delays the caller: writes are asynchronous and bounded. An event that recurs
// within ten minutes becomes a series, which is written at most once a minute. Each object has a
// budget (25 at once, then one in 10 s; commentary leaves a fifth), so that one object cannot flood
// the API. The memory of events and objects is bounded: a forgotten event starts a new series.
//
// Events about decisions are written before commentary, and both give way to other writes: their
// rate follows the API server's latency (kube/runtime/write_pace.h). Where events wait, commentary
// of an object is replaced by the object's next commentary of the same reason. A full queue drops
// its oldest events; the queue of decisions first drops superseded events, after which a later
// event of the same object and reason came. Dropped events are counted.
//
// While the API server is unavailable, or too busy, an event about a decision stays in its queue
// for an hour at most and is written when the API server answers again; the pause between two
// attempts doubles from a second to half a minute. Commentary is not repeated, since the next
// attempt of its workload makes it again. The events that tell the stages of a job replace one
// another where they wait (Supersede). Flush writes all waiting events without a pace; a program
// calls it last.
//
// For servers without events.k8s.io (such as `berth up`) the recorder writes core/v1 Events.
//
// Threads: one Executor.
// Source: Kubernetes KEP-383; client-go tools/events.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "api/codec/kinds.h"
#include "api/object_meta.h"
#include "base/clock.h"
#include "base/executor.h"
#include "base/random.h"
#include "kube/client/api_client.h"
#include "kube/runtime/event_queue.h"
#include "kube/runtime/event_type.h"
#include "kube/runtime/write_pace.h"

namespace berth::kube {

struct ObjectReference {
  std::string api_version;
  std::string kind;
  api::ObjectKey key;
  std::string uid;
  std::string resource_version;
};

template <typename T>
ObjectReference ReferenceTo(const T& object) {
  const api::ResourceKind& kind = api::KindOf<T>();
  return {kind.api_version(), std::string(kind.kind), object.meta.key(), object.meta.uid,
          object.meta.resource_version};
}

// The destination of Events: an ApiClient, or another way to an API.
class EventSink {
 public:
  using Done = std::function<void(const Status&)>;  // on the recorder's Executor, later

  virtual ~EventSink() = default;
  virtual void Create(const api::ResourceKind& kind, const std::string& namespace_name, Json event,
                      const std::string& field_manager, Done done) = 0;
  // Applies a merge patch.
  virtual void Patch(const api::ResourceKind& kind, const api::ObjectKey& event, Json patch,
                     const std::string& field_manager, Done done) = 0;
};

enum class EventApi { kEvents, kCore };

class EventRecorder {
 public:
  struct Options {
    std::string controller;         // reportingController, such as "kueue-admission"
    std::string instance;           // reportingInstance: host name or pod name
    std::size_t max_queued = 8000;  // events about decisions; commentary has a quarter of it
    std::size_t max_in_flight = 4;
    std::size_t max_remembered = 10'000;  // series, and objects with a budget
    double budget = 25;                   // events of one object at once
    EventApi first_api = EventApi::kEvents;
    std::uint64_t seed = 1;  // for the names of Events
  };

  EventRecorder(ApiClient& client, const Clock& clock, Options options);
  // Writes without a pace, for a sink whose answers say nothing about an API server.
  EventRecorder(std::unique_ptr<EventSink> sink, const Clock& clock, Options options);

  // `note` is cut to 1024 bytes, the API's limit.
  void Record(const ObjectReference& regarding, EventType type, const std::string& reason,
              const std::string& action, const std::string& note,
              EventRank rank = EventRank::kDecision);

  // Drops the events of `reason` about the object that still wait for their first write: the event
  // that the caller is about to record says all that they say.
  void Supersede(const ObjectReference& regarding, EventType type, const std::string& reason);

  // Writes everything that waits as fast as the API server answers, then calls `done`. Events that
  // are recorded meanwhile are written too. Call once; the owner bounds the wait.
  void Flush(std::function<void()> done);

  // Why an event was never written.
  enum class Dropped : std::uint8_t {
    kBudget,   // its object had too many events
    kQueue,    // too many events waited, or the event waited too long
    kRefused,  // the API server refused the event, or did not take commentary
  };
  // `told` is called for each event that is dropped. Call OnDrop before the first event.
  void OnDrop(std::function<void(Dropped why)> told) { on_drop_ = std::move(told); }
  std::uint64_t dropped() const { return dropped_; }
  std::size_t queued() const { return decisions_.size() + commentary_.size(); }

 private:
  struct Series {
    api::ObjectKey event;
    ObjectReference regarding;
    std::string action;
    std::string note;
    EventRank rank = EventRank::kDecision;
    bool created = false;                // the Event, or its create is under way
    std::optional<std::uint64_t> place;  // in its queue; nullopt: nothing waits to be written
    int count = 1;
    WallTime first_seen;
    WallTime last_seen;
    WallTime last_written;
    std::list<const EventSeries*>::iterator age = {};
  };
  using AllSeries = std::map<EventSeries, Series>;
  struct Budget {
    double tokens = 0;
    WallTime refilled;
  };
  struct Sent {
    EventSeries key;
    std::string name;  // the name of the Event
    bool creates = false;
    EventApi through = EventApi::kEvents;
    SteadyTime at;
  };

  EventRecorder(std::unique_ptr<EventSink> sink, Executor* executor, const Clock& clock,
                Options options);

  void Repeat(AllSeries::iterator which, WallTime now);
  bool Spend(const std::string& object, EventRank rank);
  // The queue of the series' next write: repetitions are commentary.
  EventQueue& QueueOf(const Series& series);
  void Enqueue(AllSeries::iterator which);
  void Forget(AllSeries::iterator which);
  void Erase(AllSeries::iterator which);
  void OnDropped(const EventSeries& key);
  void CountDropped(Dropped why);
  void OnFailed(const Sent& sent, AllSeries::iterator which, const Error& error);
  void WriteAgain(AllSeries::iterator which);
  // How long the next attempt waits; zero: it may begin.
  Duration WaitFor(EventRank rank);
  void EndFlush();
  std::optional<EventRank> NextRank() const;
  void Pump();
  void PumpAfter(Duration wait);
  void Send(AllSeries::iterator which);
  void OnWritten(const Sent& sent, const Status& written);
  void Measure(const Sent& sent, const Status& written);
  void Sweep();
  Json EncodeWhole(const EventSeries& key, const Series& series) const;
  Json EncodeRepeat(const Series& series) const;

  std::unique_ptr<EventSink> sink_;
  const Clock& clock_;
  Options options_;
  Random random_;
  AllSeries series_;
  std::list<const EventSeries*> oldest_first_;  // in the order of last occurrence
  std::map<std::string, Budget> budgets_;
  EventApi event_api_;
  EventQueue decisions_;
  EventQueue commentary_;
  WritePace pace_;
  Executor* executor_;  // null: no pace
  bool pump_posted_ = false;
  std::size_t in_flight_ = 0;
  std::uint64_t dropped_ = 0;
  std::function<void(Dropped)> on_drop_;
  std::function<void()> on_flushed_;  // not null: a flush is under way
  SteadyTime attempt_after_{};        // after a failure of the API server
  Duration pause_{};  // the pause before attempt_after_; zero: the last attempt succeeded
  WallTime last_sweep_{};
  std::shared_ptr<EventRecorder*> self_;
};

}  // namespace berth::kube

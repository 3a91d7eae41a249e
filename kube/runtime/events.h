// kube/runtime/events.h — events.k8s.io/v1 Events: what happened to an object, for people.
//
// Never in the way: writing is asynchronous, bounded (what does not fit is dropped and counted), a
// failure is logged at debug level and forgotten. The same event again within ten minutes becomes a
// series of the first one, written at most once a minute. Each object has a budget (25 at once,
// then one in 10 s), so that one unlucky object cannot flood the API. What is remembered of events
// and objects is bounded: of those that are forgotten the next event is a first one.
//
// Where the server does not serve events.k8s.io (Berth's own does not), core/v1 Events are written.
//
// Threads: one Executor.
// Source: Kubernetes KEP-383; client-go tools/events.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "api/codec/kinds.h"
#include "api/object_meta.h"
#include "base/clock.h"
#include "base/random.h"
#include "kube/client/api_client.h"
#include "kube/runtime/event_type.h"

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

// Where the Events go: an ApiClient, or what reaches an API in another way.
class EventSink {
 public:
  using Done = std::function<void(const Status&)>;  // on the recorder's Executor, never inside

  virtual ~EventSink() = default;
  virtual void Create(const api::ResourceKind& kind, const std::string& namespace_name, Json event,
                      const std::string& field_manager, Done done) = 0;
  // A merge patch.
  virtual void Patch(const api::ResourceKind& kind, const api::ObjectKey& event, Json patch,
                     const std::string& field_manager, Done done) = 0;
};

enum class EventApi { kEvents, kCore };

class EventRecorder {
 public:
  struct Options {
    std::string controller;  // reportingController, such as "kueue-admission"
    std::string instance;    // reportingInstance: host name or pod name
    std::size_t max_queued = 1000;
    std::size_t max_in_flight = 4;
    std::size_t max_remembered = 10'000;  // events that may repeat, and objects with a budget
    double budget = 25;                   // of one object at once
    EventApi first_api = EventApi::kEvents;
    std::uint64_t seed = 1;  // of the names
  };

  EventRecorder(ApiClient& client, const Clock& clock, Options options);
  EventRecorder(std::unique_ptr<EventSink> sink, const Clock& clock, Options options);

  // `note` is cut to 1024 bytes, as the API demands.
  void Record(const ObjectReference& regarding, EventType type, const std::string& reason,
              const std::string& action, const std::string& note);

  std::uint64_t dropped() const { return dropped_; }
  std::size_t queued() const { return queue_.size(); }

 private:
  // regarding uid (or key), type, reason, note
  using SeriesKey = std::tuple<std::string, EventType, std::string, std::string>;
  struct Series {
    api::ObjectKey event;
    ObjectReference regarding;
    EventType type = EventType::kNormal;
    std::string reason;
    std::string action;
    std::string note;
    int count = 1;
    WallTime first_seen;
    WallTime last_seen;
    WallTime last_written;
    std::list<SeriesKey>::iterator age = {};
  };
  struct Budget {
    double tokens = 0;
    WallTime refilled;
  };
  enum class WriteKind { kCreate, kUpdate };
  struct Write {
    WriteKind kind = WriteKind::kCreate;
    Series series;
  };

  bool Spend(const std::string& object);
  void Enqueue(Write write);
  void Pump();
  void OnWritten(const Write& write, EventApi through, const Status& written);
  void Sweep();
  void ForgetOldest();
  Json EncodeWhole(const Series& series, EventApi event_api) const;
  static Json EncodeRepeat(const Series& series, EventApi event_api);

  std::unique_ptr<EventSink> sink_;
  const Clock& clock_;
  Options options_;
  Random random_;
  std::map<SeriesKey, Series> series_;
  std::list<SeriesKey> oldest_first_;  // by when they were last seen
  std::map<std::string, Budget> budgets_;
  EventApi event_api_;
  std::deque<Write> queue_;
  std::size_t in_flight_ = 0;
  std::uint64_t dropped_ = 0;
  WallTime last_sweep_{};
  std::shared_ptr<EventRecorder*> self_;
};

}  // namespace berth::kube

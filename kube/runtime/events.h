// kube/runtime/events.h — writes events.k8s.io/v1 Events about objects.
//
// Recording never delays the caller: writes are asynchronous and bounded (an event over the bound
// is dropped and counted), and a failed write is logged at debug level and not repeated. An event
// that recurs within ten minutes becomes a series, written at most once a minute. Each object has a
// budget (25 at once, then one in 10 s), so that one object cannot flood the API. The memory of
// events and objects is bounded: a forgotten event starts a new series.
//
// For servers without events.k8s.io (such as `berth up`) the recorder writes core/v1 Events.
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
    std::string controller;  // reportingController, such as "kueue-admission"
    std::string instance;    // reportingInstance: host name or pod name
    std::size_t max_queued = 1000;
    std::size_t max_in_flight = 4;
    std::size_t max_remembered = 10'000;  // series, and objects with a budget
    double budget = 25;                   // events of one object at once
    EventApi first_api = EventApi::kEvents;
    std::uint64_t seed = 1;  // for the names of Events
  };

  EventRecorder(ApiClient& client, const Clock& clock, Options options);
  EventRecorder(std::unique_ptr<EventSink> sink, const Clock& clock, Options options);

  // `note` is cut to 1024 bytes, the API's limit.
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
  std::list<SeriesKey> oldest_first_;  // in the order of last occurrence
  std::map<std::string, Budget> budgets_;
  EventApi event_api_;
  std::deque<Write> queue_;
  std::size_t in_flight_ = 0;
  std::uint64_t dropped_ = 0;
  WallTime last_sweep_{};
  std::shared_ptr<EventRecorder*> self_;
};

}  // namespace berth::kube

// local/cluster/object_events.h — core/v1 Events of one component, by kube/runtime/events.h,
// through the embedded API.
//
// Events report, they never decide: their writes wait for nobody, not for the disk either, and an
// Event that cannot be written is forgotten.
//
// Threads: one Executor; the writes are tasks of another, which may be the same. Destroy it when
// both have stopped, or in a task of the first.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/executor.h"
#include "kube/runtime/events.h"
#include "local/apiserver/api.h"

namespace berth::local::cluster {

using kube::EventType;

class ObjectEvents {
 public:
  ObjectEvents(Api& api, const Clock& clock, Executor& executor, Executor& writes,
               const std::string& component);

  // About `object`, which has apiVersion and kind.
  void Record(const Json& object, EventType type, const std::string& reason,
              const std::string& message);

 private:
  kube::EventRecorder recorder_;
};

}  // namespace berth::local::cluster

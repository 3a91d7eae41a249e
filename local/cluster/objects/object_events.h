// local/cluster/objects/object_events.h — core/v1 Events of one component, by
// kube/runtime/events.h, through the embedded API.
//
// Event writes never delay a controller and do not wait for the disk; an Event that cannot be
// written is dropped.
//
// Threads: one Executor; writes are tasks of another one, maybe the same. Destroy it when both have
// stopped, or in a task of the first.
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

  // Records an event about `object`, which has apiVersion and kind.
  void Record(const Json& object, EventType type, const std::string& reason,
              const std::string& message);

 private:
  kube::EventRecorder recorder_;
};

}  // namespace berth::local::cluster

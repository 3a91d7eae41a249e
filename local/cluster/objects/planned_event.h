// local/cluster/objects/planned_event.h — an Event that a plan asks its controller to record.
#pragma once

#include <string>

#include "kube/runtime/event_type.h"

namespace berth::local::cluster {

using kube::EventType;

struct PlannedEvent {
  EventType type = EventType::kNormal;
  std::string reason;
  std::string message;
  friend bool operator==(const PlannedEvent&, const PlannedEvent&) = default;
};

}  // namespace berth::local::cluster

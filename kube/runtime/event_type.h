// kube/runtime/event_type.h — the type of an Event: Normal or Warning.
#pragma once

namespace berth::kube {

enum class EventType { kNormal, kWarning };

}  // namespace berth::kube

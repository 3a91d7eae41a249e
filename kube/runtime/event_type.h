// kube/runtime/event_type.h — what sort of news an Event is.
#pragma once

namespace berth::kube {

enum class EventType { kNormal, kWarning };

}  // namespace berth::kube

// kube/runtime/event_type.h — the type of an Event, and its rank among the events that wait.
#pragma once

#include <cstdint>

namespace berth::kube {

enum class EventType { kNormal, kWarning };

// Where events must wait, those about decisions are written first.
enum class EventRank : std::uint8_t {
  kDecision,    // something happened: admission, eviction, start, failure
  kCommentary,  // something still waits, and for what; the newest text replaces the others
};

}  // namespace berth::kube

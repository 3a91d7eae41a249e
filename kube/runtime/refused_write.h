// kube/runtime/refused_write.h — writes that the API server refuses, and would refuse again.
//
// Threads: one Executor.
#pragma once

#include "base/result.h"
#include "kube/runtime/events.h"

namespace berth::kube {

// Whether the same write would be refused again.
bool IsRefusal(const Error& error);

// Records the event WriteRefused about the object, with the server's words.
void RecordRefusedWrite(EventRecorder& events, const ObjectReference& object, const Error& error);

}  // namespace berth::kube

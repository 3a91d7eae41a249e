// admission/controller/refusal_event.h — the event of a write to a Workload that the API server
// refused, with the server's words.
#pragma once

#include "api/workload.h"
#include "base/result.h"
#include "kube/runtime/events.h"

namespace berth::admission {

void RecordRefusal(kube::EventRecorder& events, const api::Workload& workload, const Error& error);

}  // namespace berth::admission

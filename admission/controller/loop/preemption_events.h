// admission/controller/loop/preemption_events.h — the events of a preemption, on the victim and on
// the preemptor.
//
// Source: Kueue pkg/scheduler/preemption (IssuePreemptions); the texts are Kueue's.
#pragma once

#include <string>

#include "api/workload.h"
#include "kube/runtime/events.h"
#include "queue/ordering.h"

namespace berth::admission {

// `message`: the message of the victim's conditions. `victim`: the Workload in its state with
// quota.
void RecordPreemption(kube::EventRecorder& events, const queue::OrderingOptions& ordering,
                      const api::Workload& preemptor, const api::Workload& victim,
                      const std::string& message);

}  // namespace berth::admission

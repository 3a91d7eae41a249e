// admission/controller/preemption_events.h — what is said about a preemption: to the victim who
// took its place, to the preemptor whom it has stopped.
//
// Source: Kueue pkg/scheduler/preemption (IssuePreemptions); the texts are the wire's.
#pragma once

#include <string>

#include "api/workload.h"
#include "kube/runtime/events.h"
#include "queue/ordering.h"

namespace berth::admission {

// `message`: of the victim's conditions. `victim` as it was while it held its quota.
void RecordPreemption(kube::EventRecorder& events, const queue::OrderingOptions& ordering,
                      const api::Workload& preemptor, const api::Workload& victim,
                      const std::string& message);

}  // namespace berth::admission

// checks/controller/active_condition.h — writes the condition Active of an AdmissionCheck.
//
// Threads: one Executor, that of the manager. Errors: of the API, through `done`.
#pragma once

#include <string>

#include "api/queues.h"
#include "base/clock.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/reconciler.h"

namespace berth::checks {

// Sets the condition to True or, if `problem` is not empty, to False with the reason
// BadParametersRef. Writes nothing if the condition has this value already.
void WriteActive(kube::Manager& manager, const api::AdmissionCheck& check,
                 const std::string& problem, WallTime now, kube::Reconciler::Done done);

}  // namespace berth::checks

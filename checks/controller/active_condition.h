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

// Makes the condition True, or with a `problem` False with reason BadParametersRef. Writes nothing
// where the condition says that already.
void WriteActive(kube::Manager& manager, const api::AdmissionCheck& check,
                 const std::string& problem, WallTime now, kube::Reconciler::Done done);

}  // namespace berth::checks

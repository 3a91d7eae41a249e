// admission/controller/decision_facts.h — what the loop asks of objects and decisions.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <map>
#include <string>

#include "admission/decision.h"
#include "admission/scheduler.h"
#include "api/workload.h"

namespace berth::admission {

// Whether a change of the object can let it, or somebody else, move. Texts cannot.
bool Matters(const api::Workload& before, const api::Workload& after);

// Whether a decision on `before` is good for `after` too.
bool RestsOnTheSame(const api::Workload& before, const api::Workload& after);

// What the decision gives the workload, with the names of now.
api::Admission AdmissionOf(const Decision& decision, const Scheduler& scheduler);

// What each pod set asks: as it was decided on, else as it is written.
std::map<std::string, api::ResourceAmounts> RequestsOf(const Decision& decision,
                                                       const Vocabulary& vocabulary);

}  // namespace berth::admission

// admission/decision_facts.h — facts that the scheduler loop derives from objects.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <map>
#include <string>

#include "admission/decision.h"
#include "admission/scheduler.h"
#include "api/workload.h"

namespace berth::admission {

// Whether a change of the Workload can let some workload move. A change of texts alone does not
// matter.
bool Matters(const api::Workload& before, const api::Workload& after);

// Whether a decision on `before` holds for `after` too.
bool RestsOnTheSame(const api::Workload& before, const api::Workload& after);

// The admission that the decision gives its workload, with the present names of flavors.
api::Admission AdmissionOf(const Decision& decision, const Scheduler& scheduler);

// The requests of each pod set: as decided, else as in the spec.
std::map<std::string, api::ResourceAmounts> RequestsOf(const Decision& decision,
                                                       const Vocabulary& vocabulary);

}  // namespace berth::admission

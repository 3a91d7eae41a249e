// webhook/identity_rules.h — the immutable fields: the queue of a LocalQueue, the controller of an
// AdmissionCheck, the levels of a Topology.
//
// The CRDs have the same rules in CEL; these serve API servers that do not evaluate CEL.
//
// Source: Kueue API types (x-kubernetes-validations).
#pragma once

#include "api/queues.h"
#include "webhook/review_error.h"

namespace berth::webhook {

// `old`: the object before an update, or null on create.
FieldErrors ValidateLocalQueue(const api::LocalQueue& queue, const api::LocalQueue* old);
FieldErrors ValidateAdmissionCheck(const api::AdmissionCheck& check,
                                   const api::AdmissionCheck* old);
FieldErrors ValidateTopology(const api::Topology& topology, const api::Topology* old);

}  // namespace berth::webhook

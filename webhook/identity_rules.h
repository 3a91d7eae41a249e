// webhook/identity_rules.h — what stays as it was made: the queue behind a LocalQueue, who performs
// an AdmissionCheck, the levels of a Topology.
//
// The CRDs say the same in CEL; an API server that does not evaluate CEL learns it here.
//
// Source: Kueue API types (x-kubernetes-validations).
#pragma once

#include "api/queues.h"
#include "webhook/field_error.h"

namespace berth::webhook {

// `old`: the object before an update, or null on create.
FieldErrors ValidateLocalQueue(const api::LocalQueue& queue, const api::LocalQueue* old);
FieldErrors ValidateAdmissionCheck(const api::AdmissionCheck& check,
                                   const api::AdmissionCheck* old);
FieldErrors ValidateTopology(const api::Topology& topology, const api::Topology* old);

}  // namespace berth::webhook

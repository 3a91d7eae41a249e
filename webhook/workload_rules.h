// webhook/workload_rules.h — what may stand in a Workload, and what may change while it holds
// quota.
//
// Applies to writes of the object and of its status. Rules that the CRD has in CEL and that reach
// over several fields are checked here too, for API servers that do not evaluate CEL.
//
// Source: Kueue pkg/webhooks/workload_webhook.go.
#pragma once

#include "api/workload.h"
#include "webhook/field_error.h"

namespace berth::webhook {

// Feature gates that bring rules of their own.
struct ReviewGates {
  bool priority_boost = false;
};

// `old`: null on create.
FieldErrors ValidateWorkload(const api::Workload& workload, const api::Workload* old,
                             const ReviewGates& gates = {});

}  // namespace berth::webhook

// webhook/workload_rules.h — validates Workloads, and their changes while they hold
// quota.
//
// Applies to writes of the object and of its status. CEL rules of the CRD that involve several
// fields are checked here too, for API servers that do not evaluate CEL.
//
// Source: Kueue pkg/webhooks/workload_webhook.go.
#pragma once

#include "api/workload.h"
#include "webhook/review_error.h"

namespace berth::webhook {

// Feature gates that add rules.
struct ReviewGates {
  bool priority_boost = false;
  bool partial_admission = true;
  bool elastic_jobs = true;
  bool elastic_jobs_with_tas = false;
  bool record_users = false;  // api/job_user.h
};

// `old`: null on create.
FieldErrors ValidateWorkload(const api::Workload& workload, const api::Workload* old,
                             const ReviewGates& gates = {});

}  // namespace berth::webhook

// webhook/batch_job_rules.h — the rules of batch/v1 Job that other kinds lack: partial admission.
//
// Threads: pure functions. Source: Kueue pkg/controller/jobs/job.
#pragma once

#include "api/job.h"
#include "webhook/job_rules.h"

namespace berth::webhook {

// The kind batch/v1 Job, with its reader.
const ReviewedKind& BatchJobKind();

ReviewedJob ReviewedOf(const api::Job& job);

// The rules of all kinds and those of Jobs. `old`: null on create.
FieldErrors ValidateBatchJob(const api::Job& job, const api::Job* old, const JobFacts& facts);

}  // namespace berth::webhook

// integrations/release.h — releases the quota of an evicted Workload, and of a job on hold.
//
// Source: Kueue pkg/workload (UnsetQuotaReservationWithCondition, SetRequeuedCondition).
#pragma once

#include "api/workload.h"
#include "base/clock.h"

namespace berth::integrations {

// The status after the job has stopped: no admission, QuotaReserved and Admitted False, the time
// admitted added to the total, Requeued as the reason of the eviction requires.
//
// Precondition: the Evicted condition is True.
api::WorkloadStatus StatusAfterRelease(const api::Workload& workload, WallTime now);

// The status of a Workload whose job is on hold: no admission, QuotaReserved False with OnHold.
api::WorkloadStatus StatusOnHold(const api::Workload& workload, WallTime now);

}  // namespace berth::integrations

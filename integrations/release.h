// integrations/release.h — releases the quota of an evicted Workload.
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

}  // namespace berth::integrations

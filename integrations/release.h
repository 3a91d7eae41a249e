// integrations/release.h — an evicted Workload gives its quota back.
//
// Source: Kueue pkg/workload (UnsetQuotaReservationWithCondition, SetRequeuedCondition).
#pragma once

#include "api/workload.h"
#include "base/clock.h"

namespace berth::integrations {

// The status once the job has stopped: no admission, QuotaReserved and Admitted False, the time it
// was admitted added up, Requeued as the eviction's reason wants it.
//
// Precondition: the Evicted condition is True.
api::WorkloadStatus StatusAfterRelease(const api::Workload& workload, WallTime now);

}  // namespace berth::integrations

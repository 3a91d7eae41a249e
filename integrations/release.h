// integrations/release.h — releases the quota of an evicted Workload.
//
// Source: Kueue pkg/workload (UnsetQuotaReservationWithCondition, SetRequeuedCondition).
#pragma once

#include <string>
#include <vector>

#include "api/workload.h"
#include "base/clock.h"
#include "integrations/job_view.h"

namespace berth::integrations {

// The status after the job has stopped: no admission, QuotaReserved and Admitted False, the time
// admitted added to the total, Requeued as the reason of the eviction requires.
//
// Precondition: the Evicted condition is True.
api::WorkloadStatus StatusAfterRelease(const api::Workload& workload, WallTime now);
// The status after the job has stopped, for a job whose state is known: a pod that waits at its
// gate stays, and waits again.
api::WorkloadStatus StatusAfterRelease(const api::Workload& workload, const JobView& job,
                                       WallTime now);

// The status without admission, for another cause than an eviction: QuotaReserved False with the
// reason and the message, Admitted False, the time admitted added to the total.
api::WorkloadStatus StatusWithoutQuota(const api::Workload& workload, const std::string& reason,
                                       const std::string& message, WallTime now);

// Returns, among the Workloads that the object with this uid controls, the one that holds quota,
// else any; null: there is none.
const api::Workload* OwnWorkload(const std::vector<api::Workload>& workloads,
                                 const std::string& uid);

}  // namespace berth::integrations

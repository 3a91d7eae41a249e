// admission/lifecycle/status_edit.h — small changes of a WorkloadStatus; each says whether it
// changed anything. For the .cc files of this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/workload.h"
#include "base/clock.h"

namespace berth::admission {

bool SetStatusCondition(api::WorkloadStatus& status, const char* type, api::ConditionStatus value,
                        std::string_view reason, std::string_view message, std::int64_t generation,
                        WallTime now);
bool RemoveStatusCondition(api::WorkloadStatus& status, const char* type);

// All checks are Pending; what they were, their messages say.
void ResetChecks(api::WorkloadStatus& status, WallTime now);

// A reservation that was never admitted is given back, without an eviction: nothing has to stop.
void GiveReservationBack(api::WorkloadStatus& status, const char* reason,
                         const std::string& message, std::int64_t generation, WallTime now);

// Checks that are not required any more are gone.
bool DropCheckStates(api::WorkloadStatus& status, const std::vector<std::string>& required);
// Exactly the required checks, new ones Pending, others gone.
bool SyncCheckStates(api::WorkloadStatus& status, const std::vector<std::string>& required,
                     WallTime now);
// Admitted as the reservation, the checks and the topology make it; whether that is news. A
// workload that is admitted stays so until it is released.
bool SyncAdmittedCondition(api::WorkloadStatus& status, std::int64_t generation, WallTime now);

bool AllChecksReady(const api::WorkloadStatus& status);
bool HasPendingTopology(const api::WorkloadStatus& status);

}  // namespace berth::admission

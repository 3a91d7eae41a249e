// admission/lifecycle/status_edit.h — small changes of a WorkloadStatus. Each function returns
// whether the status changed. For the .cc files of this folder.
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

// Sets all checks to Pending, with messages that name the states they had.
void ResetChecks(api::WorkloadStatus& status, WallTime now);

// Releases a reservation that was never admitted, without an eviction: no pod has to stop.
void GiveReservationBack(api::WorkloadStatus& status, const char* reason,
                         const std::string& message, std::int64_t generation, WallTime now);

// Removes the states of checks that are not required.
bool DropCheckStates(api::WorkloadStatus& status, const std::vector<std::string>& required);
// Keeps the states of required checks, adds missing ones as Pending, removes the others.
bool SyncCheckStates(api::WorkloadStatus& status, const std::vector<std::string>& required,
                     WallTime now);
// Derives Admitted from the reservation, the checks and the topology; returns whether it changed.
// An admitted workload stays admitted until its release.
bool SyncAdmittedCondition(api::WorkloadStatus& status, std::int64_t generation, WallTime now);

bool AllChecksReady(const api::WorkloadStatus& status);
bool HasPendingTopology(const api::WorkloadStatus& status);

}  // namespace berth::admission

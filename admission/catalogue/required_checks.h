// admission/catalogue/required_checks.h — the AdmissionChecks that a ClusterQueue requires of its
// workloads.
//
// Threads: data. Errors: none.
// Source: Kueue pkg/workload (AdmissionChecksForWorkload).
#pragma once

#include <string>
#include <vector>

#include "api/queues.h"

namespace berth::admission {

// Whether the rule's check holds for the flavor.
bool AppliesTo(const api::AdmissionCheckRule& rule, const std::string& flavor);

// The checks that a workload with these flavors has to pass in the queue, by name.
std::vector<std::string> RequiredChecks(const api::ClusterQueueSpec& spec,
                                        const std::vector<std::string>& flavors);

// The checks that hold for every flavor of the queue, hence known without an assignment; by name.
std::vector<std::string> ChecksBeforeReservation(const api::ClusterQueueSpec& spec);

}  // namespace berth::admission

// provisioning/ways/request_parts.h — which pods of a Workload one request is for.
//
//     PerPodSet: pod sets that need the same flavors are a part, and each part has a request
//     Divide:    one pod set, a part of n nodes after the other; the first part has n nodes
//     else:      one request is for all pods
//
// The requests are the memory: the part of a request follows from its pod sets, and a Ready check
// names the requests of its parts in podSetUpdates. The ways split.h and divide.h act on the parts.
//
// Units: pods. Threads: pure functions. Errors: none. Source: this repository's specification of
// capacity.
#pragma once

#include <optional>
#include <vector>

#include "api/provisioning_request.h"
#include "provisioning/race.h"
#include "provisioning/ways/check_situation.h"

namespace berth::provisioning {

// The parts of the check's `groups` where the policy splits them. Empty: one request is for all.
std::vector<Part> SplitByFlavors(const CheckSituation& check);

// The first part of the check's `groups` where the policy divides them. Empty: undivided, or all
// pods fit into one part.
Part FirstPart(const CheckSituation& check);

// The pods that the request is for. Where parts have requests of their own, a request for other
// pods has none.
const Part& GroupsOf(const CheckSituation& check, const api::ProvisioningRequest& request);

// The parts that none of the check's runners is for.
std::vector<const Part*> MissingParts(const CheckSituation& check);

// The newest of `candidates` for each part; for a check that is Ready, those that its updates name,
// even if the policy has changed since. nullopt: the Workload has one request.
std::optional<std::vector<Runner>> RunnersOfParts(const CheckSituation& check,
                                                  const std::vector<Runner>& candidates);

// The requests of divided pods that a Ready check keeps, even if the policy has changed since.
// Empty: there are none.
std::vector<Runner> RunnersOfDivided(const CheckSituation& check,
                                     const std::vector<Runner>& candidates);

}  // namespace berth::provisioning

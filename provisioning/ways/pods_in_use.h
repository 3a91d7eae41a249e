// provisioning/ways/pods_in_use.h — what a check does about the pods that use its capacity
// (late_pods.h): nodes that are lost, pods that find no node.
//
// Units: seconds. Threads: pure functions. Errors: none.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "api/provisioning_request.h"
#include "base/clock.h"
#include "provisioning/late_pods.h"
#include "provisioning/ways/check_situation.h"
#include "provisioning/ways/move.h"

namespace berth::provisioning {

struct PodTrouble {
  std::string reason;  // one of late_pods.h
  std::string message;
};

// The trouble of the pods that use the claim, for which the policy has the Workload queued again.
// An event says once that pods are late. `booking_over`: whether the booking of the nodes has
// ended, given the limit of late pods. nullopt: there is no trouble, or the Workload goes on.
std::optional<PodTrouble> TroubleWithPods(const CheckSituation& check, const Claim& claim,
                                          const std::function<bool(Duration)>& booking_over,
                                          Move& move);

// Returns whether the capacity of the request in use is given up.
bool GiveUpForPods(const CheckSituation& check, const api::ProvisioningRequest& request,
                   Move& move);

}  // namespace berth::provisioning

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

// What the pods that use the claim suffer, where the policy wants the Workload to be queued again.
// Tells once that pods are late. `booking_over` tells whether nobody keeps the nodes any more,
// given the limit of late pods. nullopt: nothing, or the Workload goes on.
std::optional<PodTrouble> TroubleWithPods(const CheckSituation& check, const Claim& claim,
                                          const std::function<bool(Duration)>& booking_over,
                                          Move& move);

// Returns whether the capacity of the request in use is given up.
bool GiveUpForPods(const CheckSituation& check, const api::ProvisioningRequest& request,
                   Move& move);

}  // namespace berth::provisioning

// provisioning/request_state.h — the state of a ProvisioningRequest, from its conditions.
//
//     kUnanswered ─▶ kPending ─▶ kAccepted ─▶ kProvisioned ─▶ kBookingExpired ─▶ kCapacityRevoked
//                        └───────────┴──▶ kFailed
//
// Conditions accumulate (an expired request is Accepted and Provisioned too), so they are tested
// from the latest state backwards. Source: autoscaling.x-k8s.io/v1; Kueue's order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/condition.h"
#include "api/provisioning_request.h"

namespace berth::provisioning {

inline constexpr char kAcceptedCondition[] = "Accepted";
inline constexpr char kProvisionedCondition[] = "Provisioned";
inline constexpr char kFailedCondition[] = "Failed";
inline constexpr char kBookingExpiredCondition[] = "BookingExpired";
inline constexpr char kCapacityRevokedCondition[] = "CapacityRevoked";

enum class RequestState : std::uint8_t {
  kUnanswered,  // no controller has written a condition
  kPending,
  kAccepted,
  kProvisioned,
  kBookingExpired,
  kCapacityRevoked,
  kFailed,
};

RequestState StateOf(const api::ProvisioningRequest& request);
// Whether the request waits for capacity.
bool IsOpen(RequestState state);
// Whether the cloud may still grant the request: it waits, and is not being deleted.
bool MayBeGranted(const api::ProvisioningRequest& request);
std::string_view RequestStateName(RequestState state);

// The condition that gives the state's reason (see request_reasons.h), or null; for a waiting
// request the condition that names the cause of the wait.
const api::Condition* DecidingCondition(const api::ProvisioningRequest& request);

}  // namespace berth::provisioning

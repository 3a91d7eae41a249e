// provisioning/request_state.h — where a ProvisioningRequest stands, from its conditions.
//
//     kUnanswered ─▶ kPending ─▶ kAccepted ─▶ kProvisioned ─▶ kBookingExpired ─▶ kCapacityRevoked
//                        └───────────┴──▶ kFailed
//
// Conditions accumulate (an expired request is still Accepted and Provisioned), so they are looked
// at from the end of the life backwards. Source: autoscaling.x-k8s.io/v1; Kueue's order.
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
  kUnanswered,  // nobody has written a condition
  kPending,
  kAccepted,
  kProvisioned,
  kBookingExpired,
  kCapacityRevoked,
  kFailed,
};

RequestState StateOf(const api::ProvisioningRequest& request);
std::string_view RequestStateName(RequestState state);

// The condition that says why the request is where it is (its reason is in reasons.h), or null:
// for a waiting request the one that tells what it waits for.
const api::Condition* DecidingCondition(const api::ProvisioningRequest& request);

}  // namespace berth::provisioning

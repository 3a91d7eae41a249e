#include "provisioning/request_state.h"

namespace berth::provisioning {

RequestState StateOf(const api::ProvisioningRequest& request) {
  const auto is = [&request](const char* type) { return api::IsTrue(request.conditions, type); };
  if (is(kFailedCondition)) return RequestState::kFailed;
  if (is(kCapacityRevokedCondition)) return RequestState::kCapacityRevoked;
  if (is(kBookingExpiredCondition)) return RequestState::kBookingExpired;
  if (is(kProvisionedCondition)) return RequestState::kProvisioned;
  if (is(kAcceptedCondition)) return RequestState::kAccepted;
  return request.conditions.empty() ? RequestState::kUnanswered : RequestState::kPending;
}

bool MayBeGranted(const api::ProvisioningRequest& request) {
  return IsOpen(StateOf(request)) && !request.meta.deletion_timestamp;
}

bool IsOpen(RequestState state) {
  return state == RequestState::kUnanswered || state == RequestState::kPending ||
         state == RequestState::kAccepted;
}

std::string_view RequestStateName(RequestState state) {
  switch (state) {
    case RequestState::kUnanswered: return "Unanswered";
    case RequestState::kPending: return "Pending";
    case RequestState::kAccepted: return kAcceptedCondition;
    case RequestState::kProvisioned: return kProvisionedCondition;
    case RequestState::kBookingExpired: return kBookingExpiredCondition;
    case RequestState::kCapacityRevoked: return kCapacityRevokedCondition;
    case RequestState::kFailed: return kFailedCondition;
  }
  return "";
}

const api::Condition* DecidingCondition(const api::ProvisioningRequest& request) {
  const auto find = [&request](const char* type) {
    return api::FindCondition(request.conditions, type);
  };
  switch (StateOf(request)) {
    case RequestState::kUnanswered: return nullptr;
    case RequestState::kPending: return find(kAcceptedCondition);
    case RequestState::kAccepted:
      // Provisioned=False has the cloud's reason to wait; without it only the acceptance is known.
      return find(kProvisionedCondition) != nullptr ? find(kProvisionedCondition)
                                                    : find(kAcceptedCondition);
    case RequestState::kProvisioned: return find(kProvisionedCondition);
    case RequestState::kBookingExpired: return find(kBookingExpiredCondition);
    case RequestState::kCapacityRevoked: return find(kCapacityRevokedCondition);
    case RequestState::kFailed: return find(kFailedCondition);
  }
  return nullptr;
}

}  // namespace berth::provisioning

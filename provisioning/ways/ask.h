// provisioning/ways/ask.h — makes the requests for capacity of a check.
//
//     step, zone, attempt, part ─▶ templates, then the request
//
// An autoscaler fails a request with missing templates for good, so the templates come first. The
// cost of a request is charged, and the charge is written, before the request is made (budget.h).
//
// Units: seconds. Threads: pure functions. Errors: none. Source: Kueue
// pkg/controller/admissionchecks/provisioning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/provisioning_policy.h"
#include "api/provisioning_request.h"
#include "provisioning/ways/check_situation.h"
#include "provisioning/ways/move.h"

namespace berth::provisioning {

struct Branch {                                 // one request to make
  const api::ProvisioningStep* step = nullptr;  // null: the config alone
  std::string zone;                             // empty: where the cloud chooses
  std::int32_t attempt = 0;
  std::int32_t race = 0;       // the attempt that began the race; 0: none
  const Part* part = nullptr;  // null: the request is for all pods
};

// Asks for the capacity that the check lacks: one request, or one for each part without a request.
void Ask(const CheckSituation& check, Move& move);

// Makes the request of the branch.
void AskIn(const CheckSituation& check, const Branch& branch, Move& move);

// Makes a request like `branch` for each part, with attempts that count up from the branch's
// attempt.
void AskForParts(const CheckSituation& check, Branch branch, const std::vector<const Part*>& parts,
                 Move& move);

// The lane in which the policy's limit of open requests leaves no room for the request of the
// branch. nullopt: the request may be made.
std::optional<FlowWait> WaitForRoom(const CheckSituation& check, const Branch& branch);

// Creates missing templates of a request, and moves those that the Workload owns to `owner`, the
// request. `owner` null: the request is about to be made, and gets new templates, because the
// content of templates that exist is not trusted.
void CreateTemplates(const CheckSituation& check, const std::string& request_name,
                     const std::string& zone, const api::ProvisioningRequest* owner,
                     const Part& groups, Move& move);

// Does the same for a request that exists, with the zone in which it asks.
void CompleteTemplates(const CheckSituation& check, const api::ProvisioningRequest& request,
                       const Part& groups, Move& move);

}  // namespace berth::provisioning

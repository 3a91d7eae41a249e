// provisioning/ways/check_situation.h — the facts from which the ways of one check decide.
//
//     Situation of the Workload, one check ─▶ memory, vetoes, steps, pods, requests that may win
//
// A way is one thing that a check does about capacity: ask, race, split, divide, reuse nodes, guard
// the end of a run. Each way reads this struct, which no way changes, and adds to a Move (move.h).
// provisioning/decide_check.h has their order.
//
// Units: seconds, pods. Threads: one; all arguments must outlive the struct. Errors: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/provisioning_policy.h"
#include "api/provisioning_request.h"
#include "api/workload.h"
#include "base/clock.h"
#include "provisioning/decide.h"
#include "provisioning/pod_sets.h"
#include "provisioning/policy_steps.h"
#include "provisioning/race.h"
#include "provisioning/vetoes.h"

namespace berth::provisioning {

using Part = std::vector<PodSetGroup>;  // the pods that one of several requests is for

struct CheckSituation {
  CheckSituation(const Situation& of_workload, const CheckInput& of_check,
                 const api::AdmissionCheckState& state, const DecideOptions& with, WallTime at);
  CheckSituation(const CheckSituation&) = delete;
  CheckSituation& operator=(const CheckSituation&) = delete;

  // Whether the check is Ready, and its capacity in use.
  bool is_ready() const { return before.state == api::CheckState::kReady; }
  bool admitted() const;
  // The check's retryCount.
  std::int32_t failures() const { return before.retry_count.value_or(0); }
  // The first of the requests that may win; null: there is none.
  const api::ProvisioningRequest* current() const {
    return runners.empty() ? nullptr : runners.front().request;
  }
  // The config with the step that applies. Precondition: the check has a config.
  const api::ProvisioningRequestConfig& config() const {
    return plan ? plan->config() : *input.config;
  }
  // The attempt of the request; nullopt: another check has made it.
  std::optional<std::int32_t> AttemptOf(const api::ProvisioningRequest& request) const;
  // The attempt of the check's next request.
  std::int32_t NextAttempt() const;
  // The step of the request; null: no policy. In a race over steps each request has a step of its
  // own.
  const api::ProvisioningStep* StepOf(const api::ProvisioningRequest& request) const;
  // How many requests of the step have failed.
  std::int32_t FailedAttempts(const api::ProvisioningStep& step) const;
  // The veto against the step; null: there is none, or the veto holds only in favor of another
  // step: such a veto does not take the step from a job that has asked in it.
  const Veto* VetoOf(const api::ProvisioningStep& step) const;
  // The input of the vetoes while no request waits. Precondition: the check has a policy.
  VetoInput AboutSteps() const;
  // The limit or forecast of the run from outside the Workload (run_duration.h); nullopt: neither
  // is known.
  std::optional<std::int64_t> RunOfJob() const;
  // Whether Berth makes each of several requests that race; the cloud may race with one.
  bool Races() const;
  // Whether each part of the pods has a request of its own.
  bool Splits() const { return parts.size() > 1; }
  // The options of the pods' updates, with what the policy says.
  UpdateOptions Updates() const;

  const Situation& situation;
  const api::Workload& workload;
  const CheckInput& input;
  const api::AdmissionCheckState& before;  // the check's state that the decision may change
  const DecideOptions& options;
  const WallTime now;

  api::ProvisioningMemory memory;          // empty: no policy
  const std::vector<std::string> flavors;  // the flavors of the admission
  Vetoes vetoes;
  std::optional<StepPlan> plan;  // nullopt: no policy, or none of its steps is for these flavors

  std::vector<PodSetGroup> groups;  // the pods that need capacity
  std::vector<Part> parts;  // the parts of `groups` (request_parts.h); empty: one request for all
  Part first;               // the first part of divided pods (request_parts.h); empty: undivided
  std::vector<Runner> runners;  // the requests that may win, by attempt (selection.h)
};

// The input of the vetoes of the check's steps while no request waits. Precondition: `input` has a
// policy and a config. All arguments must outlive the result.
VetoInput AboutSteps(const Situation& situation, const CheckInput& input,
                     const api::ProvisioningMemory& memory, WallTime now);

// Whole seconds, cut towards 0.
std::int64_t SecondsBetween(WallTime from, WallTime to);

}  // namespace berth::provisioning

// provisioning/ways/move.h — the next move of one check: what the ways of its decision have added.
//
// Outcomes, charges and a changed memory come first and alone (decide.h): beside them the state of
// the check is not written.
//
// Units: seconds from now. Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/provisioning_policy.h"
#include "api/workload.h"
#include "base/clock.h"
#include "provisioning/decide.h"

namespace berth::provisioning {

struct Move {
  explicit Move(const api::AdmissionCheckState& before) : state(before) {}

  void Say(api::CheckState next, const std::string& message);
  // Sets the check to Retry, which releases the quota; the Workload is queued again after so many
  // seconds.
  void Retry(std::int64_t after_seconds, const std::string& message);
  // Sets the check to Ready, with the updates by which the pods use the capacity.
  void Ready(const std::string& message, std::vector<api::PodSetUpdate> updates);
  void Add(Action action) { actions.push_back(std::move(action)); }
  void AddIfAny(std::optional<CheckEvent> event);
  // Wakes the Workload after `wait`, if nothing wakes it sooner.
  void WakeIn(Duration wait);
  // Notes that capacity in use ends at `end`; the first end counts.
  void EndsAt(WallTime end);
  // Record the outcome, or the charges. Return whether there is one to record.
  bool Learn(std::optional<StockLesson> lesson);
  bool Book(std::vector<Charge> due);
  // Returns the memory to write, for the caller to change; at first a copy of `known`, the memory
  // that the Workload has.
  api::ProvisioningMemory& Remember(const api::ProvisioningMemory& known);

  api::AdmissionCheckState state;
  std::optional<api::ProvisioningMemory> memory;  // to write first; nullopt: it stays
  // The fields below mean what those of Decision mean.
  std::vector<StockLesson> lessons;
  std::vector<Charge> charges;
  std::vector<Action> actions;
  std::vector<CheckEvent> told;
  std::optional<Duration> next_wake;
  std::optional<WallTime> expires_at;
  std::optional<FlowWait> waits;
  bool waits_for_budget = false;
};

// Adds all but the memory to the decision about the Workload, and the state if it differs from
// `before` and nothing has to be recorded first.
void AddTo(Decision& decision, Move move, const api::AdmissionCheckState& before, WallTime now);

}  // namespace berth::provisioning

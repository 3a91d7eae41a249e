#include "provisioning/decide_check.h"

#include <utility>

#include "provisioning/asked_requests.h"
#include "provisioning/ways/ask.h"
#include "provisioning/ways/check_situation.h"
#include "provisioning/ways/consequence.h"
#include "provisioning/ways/divide.h"
#include "provisioning/ways/follow_request.h"
#include "provisioning/ways/move.h"
#include "provisioning/ways/node_leases.h"
#include "provisioning/ways/race_steps.h"
#include "provisioning/ways/selection.h"
#include "provisioning/ways/split.h"

namespace berth::provisioning {
namespace {

using api::CheckState;

// Precondition: some request may win.
void FollowRunners(const CheckSituation& check, Move& move) {
  const bool ready = check.is_ready();
  if (ready && IsDivided(*check.current())) return FollowDivided(check, move);
  if (check.Splits() || (ready && check.runners.size() > 1)) return FollowParts(check, move);
  if (ready || !check.Races()) return FollowRequest(check, *check.current(), move);
  FollowRace(check, move);
}

void Follow(const CheckSituation& check, Move& move) {
  const CheckState state = check.before.state;
  if (check.input.config == nullptr) {
    if (!check.admitted() || !check.is_ready()) {
      move.Say(CheckState::kPending, "the check is not active");
    }
    return;
  }
  // The lifecycle acts on Retry and Rejected: the Workload is about to lose its quota.
  const bool asks = state != CheckState::kRetry && state != CheckState::kRejected;
  const bool needs = !check.groups.empty();
  if (check.plan && asks && needs && DrawConsequence(check, move)) return;
  DropObsolete(check, move);
  if (!needs) {
    if (!check.is_ready()) move.Ready("the provisioning request is not needed", {});
    return;
  }
  if (!asks) return;
  if (check.current() != nullptr) return FollowRunners(check, move);
  const NodeLeases leases(check);
  if (check.is_ready()) return leases.Keep(move);
  if (!leases.Take(move)) Ask(check, move);
}

}  // namespace

CheckOutcome DecideCheck(const Situation& situation, const CheckInput& input,
                         const api::AdmissionCheckState& before, const DecideOptions& options,
                         WallTime now, Decision& out) {
  CheckSituation check(situation, input, before, options, now);
  Move move(before);
  Follow(check, move);
  CheckOutcome outcome{.memory = move.memory, .vetoes = std::move(check.vetoes)};
  AddTo(out, std::move(move), before, now);
  return outcome;
}

}  // namespace berth::provisioning

#include "provisioning/ways/move.h"

#include <algorithm>
#include <iterator>

#include "checks/check_event.h"

namespace berth::provisioning {
namespace {

template <typename T>
void Append(std::vector<T> from, std::vector<T>& into) {
  into.insert(into.end(), std::make_move_iterator(from.begin()),
              std::make_move_iterator(from.end()));
}

}  // namespace

void Move::Say(api::CheckState next, const std::string& message) {
  state.state = next;
  state.message = message;
}

void Move::Retry(std::int64_t after_seconds, const std::string& message) {
  Say(api::CheckState::kRetry, message);
  state.requeue_after_seconds = static_cast<std::int32_t>(after_seconds);
}

void Move::Ready(const std::string& message, std::vector<api::PodSetUpdate> updates) {
  Say(api::CheckState::kReady, message);
  state.pod_set_updates = std::move(updates);
}

void Move::AddIfAny(std::optional<CheckEvent> event) {
  if (event) Add(*std::move(event));
}

void Move::WakeIn(Duration wait) { next_wake = std::min(next_wake.value_or(wait), wait); }

void Move::EndsAt(WallTime end) { expires_at = std::min(expires_at.value_or(end), end); }

bool Move::Learn(std::optional<StockLesson> lesson) {
  if (!lesson) return false;
  lessons.push_back(*std::move(lesson));
  return true;
}

bool Move::Book(std::vector<Charge> due) {
  const bool any = !due.empty();
  Append(std::move(due), charges);
  return any;
}

api::ProvisioningMemory& Move::Remember(const api::ProvisioningMemory& known) {
  if (!memory) memory = known;
  return *memory;
}

void AddTo(Decision& decision, Move move, const api::AdmissionCheckState& before, WallTime now) {
  api::AdmissionCheckState& state = move.state;
  // What an earlier reservation has left goes.
  if (state.state != api::CheckState::kRetry) state.requeue_after_seconds.reset();
  if (state.state != api::CheckState::kReady) state.pod_set_updates.clear();
  const bool waits = move.memory || !move.lessons.empty() || !move.charges.empty();
  if (!waits && state != before) {
    if (state.state != before.state) {
      state.last_transition_time = CutToSeconds(now);
      move.Add(checks::StateEvent(before, state));
    }
    decision.checks.push_back(std::move(state));
  }
  Append(std::move(move.lessons), decision.lessons);
  Append(std::move(move.charges), decision.charges);
  Append(std::move(move.actions), decision.actions);
  Append(std::move(move.told), decision.told);
  if (move.next_wake) {
    decision.next_wake = std::min(decision.next_wake.value_or(*move.next_wake), *move.next_wake);
  }
  if (move.expires_at) {
    decision.expires_at =
        std::min(decision.expires_at.value_or(*move.expires_at), *move.expires_at);
  }
  if (move.waits) decision.waits = std::move(move.waits);
  decision.waits_for_budget = decision.waits_for_budget || move.waits_for_budget;
}

}  // namespace berth::provisioning

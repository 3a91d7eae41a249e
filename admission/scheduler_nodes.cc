// Nodes, pods and the second pass in the Scheduler.
#include <algorithm>

#include "admission/scheduler.h"

namespace berth::admission {
namespace {

constexpr Duration kFirstWait = std::chrono::seconds(1);
constexpr int kMaxDoublings = 5;  // at most 30 s
constexpr Duration kLongestWait = std::chrono::seconds(30);

}  // namespace

void Scheduler::ApplyNode(const api::Node& object) {
  const Wakes wakes = state_.SetNode(object);
  // The node is new, repaired or changed: preemptions that were in vain may succeed now.
  if (!wakes.empty() && CountsForPlacement(object)) history_.Clear();
  Request(wakes);
}
void Scheduler::ForgetNode(const std::string& name) { Request(state_.RemoveNode(name)); }
void Scheduler::ApplyPod(const api::Pod& object) { Request(state_.SetPod(object)); }
void Scheduler::ForgetPod(const api::ObjectKey& key) { Request(state_.RemovePod(key)); }

std::optional<WallTime> Scheduler::NextSecondPass() const {
  if (second_passes_.empty()) return std::nullopt;
  return std::min_element(second_passes_.begin(), second_passes_.end(),
                          [](const auto& a, const auto& b) { return a.second.due < b.second.due; })
      ->second.due;
}

void Scheduler::NoteSecondPass(WorkloadId id, WallTime now) {
  second_passes_.try_emplace(id, SecondPass{now + kFirstWait, 0});
}

void Scheduler::AddSecondPasses(std::vector<HeadInput>& heads, WallTime now) {
  for (const auto& [id, pass] : second_passes_) {
    const Reservation* reserved = state_.reservation(id);
    if (pass.due > now || reserved == nullptr) continue;
    HeadInput head;
    head.head = {id, reserved->cluster_queue};
    head.workload = &record(id).info;
    head.reserved = reserved;
    heads.push_back(head);
  }
}

void Scheduler::FinishSecondPass(const Decision& decision, WallTime now) {
  const WorkloadId id = decision.workload;
  if (GivesQuota(decision)) {
    std::vector<PlacedPods> placed = BookingsOf(state_, *decision.object, decision.assignment);
    const Reservation& before = *state_.reservation(id);
    if (LeavesNodes(before.placed, placed)) RequestForNodesOf(before);
    state_.Update(id, [&placed](Reservation& held) { held.placed = std::move(placed); });
  }
  if (decision.outcome == Outcome::kAdmitted || decision.outcome == Outcome::kEvictForNodeFailure) {
    second_passes_.erase(id);  // the written object adds it again
    return;
  }
  SecondPass& pass = second_passes_.at(id);
  pass.attempts = std::min(pass.attempts + 1, kMaxDoublings);
  pass.due = now + std::min(kFirstWait * (1 << pass.attempts), kLongestWait);
}

}  // namespace berth::admission

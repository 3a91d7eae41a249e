// What a check does for a job whose pods need not start together, where the policy has
// `split: {mode: Divide, maxNodesPerRequest: n}`: the pods are asked for in parts of n nodes.
//
//     request of part 1 ─ nodes ─▶ Ready: all pods are made, those of part 1 start
//                                  └▶ request of part 2 ─ nodes ─▶ …
//     … until each pod has had its turn
//
// The first part decides about the start, as the request of an undivided Workload does. A later
// part that fails is asked for again after the backoff of the config, and ends nothing: pods of
// earlier parts that finish make room, too. One part is asked for at a time.
//
// The requests are the memory: the annotation berth.dev/divided marks them, and all are kept while
// the check is Ready.
#include <algorithm>
#include <chrono>

#include "api/labels.h"
#include "api/provisioning_labels.h"
#include "provisioning/check_decider.h"
#include "provisioning/vetoes.h"
#include "provisioning/zones.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningRequest;

constexpr std::int64_t kMostDoublings = 16;

}  // namespace

bool IsDivided(const ProvisioningRequest& request) {
  return request.meta.annotations.contains(api::kDividedAnnotation);
}

std::int64_t PodsOf(const ProvisioningRequest& request) {
  std::int64_t pods = 0;
  for (const auto& each : request.pod_sets) pods = api::AddAmounts(pods, each.count);
  return pods;
}

// A job that fits into one part is not divided.
void CheckDecider::DivideGroups() {
  if (!plan_ || groups_.size() != 1 || !MayDivide(*input_.policy, workload_)) return;
  const Gang gang = GangOf(workload_, config());
  std::int64_t nodes = input_.policy->split->max_nodes;
  std::int64_t per_node = 1;
  const api::ProvisioningStep* step = plan_->current();
  if (step != nullptr && step->pool && !gang.parts.empty()) {
    nodes = std::min<std::int64_t>(nodes, step->pool->max_nodes);
    per_node = std::max<std::int64_t>(PodsOnNode(gang.parts.front(), step->pool->node), 1);
  }
  const std::int64_t pods = api::MultiplyAmounts(nodes, per_node);
  if (groups_.front().count <= pods) return;
  first_ = groups_;
  first_.front().count = static_cast<std::int32_t>(pods);
}

// All pods have one node selector: nodes of later parts have other names and the same labels.
api::ProvisioningRequestConfig CheckDecider::UpdatesConfig(
    const ProvisioningRequest& request) const {
  api::ProvisioningRequestConfig updates = config();
  if (IsDivided(request)) updates.node_selector_updates.clear();
  return updates;
}

// A check that is Ready keeps the requests of all parts, whatever the policy says by now.
bool CheckDecider::ChooseDivided(const std::vector<Runner>& candidates) {
  if (state_.state != api::CheckState::kReady) return false;
  for (const Runner& each : candidates) {
    if (IsDivided(*each.request)) runners_.push_back(each);
  }
  if (runners_.empty()) return false;
  current_ = runners_.front().request;
  return true;
}

// The pods that have not finished.
std::int64_t CheckDecider::PodsThatRemain() const {
  std::int64_t pods = groups_.empty() ? 0 : groups_.front().count;
  for (const api::ReclaimablePod& each : workload_.status.reclaimable_pods) pods -= each.count;
  return std::max<std::int64_t>(pods, 0);
}

void CheckDecider::FollowDivided() {
  const ProvisioningRequest* open = nullptr;
  const ProvisioningRequest* failed = nullptr;
  std::int64_t have = 0;
  std::int64_t failures = runners_.back().attempt - runners_.front().attempt + 1;
  bool learnt = false;
  for (const Runner& each : runners_) {
    const ProvisioningRequest& request = *each.request;
    const RequestState state = StateOf(request);
    if (state == RequestState::kFailed) {
      const api::Condition& why = *DecidingCondition(request);
      learnt = Learn(request, why.reason, why.last_transition_time) || learnt;
      failed = &request;
      continue;
    }
    have += PodsOf(request);
    if (IsOpen(state)) {
      open = &request;
      continue;
    }
    if (const auto granted = GrantedAt(request)) learnt = Learn(request, "", *granted) || learnt;
    --failures;
    if (state_.state == api::CheckState::kReady && !counted_) FollowRequest(request);
  }
  if (learnt || counted_ || state_.state != api::CheckState::kReady) return;
  if (open != nullptr) {
    return CreateTemplates(open->meta.name, ZoneOf(*open), open, groups_);
  }
  AskForMore(PodsThatRemain() - have, failures, failed);
}

// Makes the request of the next part when its turn has come.
void CheckDecider::AskForMore(std::int64_t pods, std::int64_t failures,
                              const ProvisioningRequest* failed) {
  const api::ProvisioningStep* step = plan_ ? plan_->current() : nullptr;
  if (first_.empty() || pods <= 0 || step == nullptr) {
    if (failed != nullptr) Add(DeleteRequest{failed->meta.name});
    return;
  }
  if (failed != nullptr) {
    const auto doublings = std::clamp<std::int64_t>(failures - 1, 0, kMostDoublings);
    const WallTime due =
        DecidingCondition(*failed)->last_transition_time +
        std::chrono::seconds(BackoffSeconds(*input_.config, static_cast<std::int32_t>(doublings)));
    if (now_ < due) return WakeIn(due - now_);
  }
  if (const Veto* veto = VetoOf(*step)) {
    if (veto->until) WakeIn(std::max<Duration>(*veto->until - now_, Duration::zero()));
    return;
  }
  Branch branch{
      .step = step, .zone = ZoneOf(*current_), .attempt = NextAttempt(situation_, input_, memory_)};
  if (!HasRoom(branch)) return;
  if (failed != nullptr) Add(DeleteRequest{failed->meta.name});
  Part part = first_;
  part.front().count = static_cast<std::int32_t>(std::min<std::int64_t>(part.front().count, pods));
  branch.part = &part;
  AskIn(branch);
}

}  // namespace berth::provisioning

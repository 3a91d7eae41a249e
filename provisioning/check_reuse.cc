// What a check does about idle nodes (reuse.h), leases (lease.h), and pods in use of capacity
// (late_pods.h).
#include <algorithm>
#include <chrono>

#include "api/labels.h"
#include "api/provisioning_labels.h"
#include "api/topology_annotations.h"
#include "base/strings.h"
#include "provisioning/check_decider.h"
#include "provisioning/lease.h"
#include "provisioning/names.h"
#include "provisioning/run_duration.h"

namespace berth::provisioning {
namespace {

using api::CheckState;
using std::chrono::seconds;

constexpr std::size_t kMaxMessageBytes = 512;
constexpr Duration kNoReuseAfterFailure = std::chrono::hours(1);
constexpr Duration kLeaseBooking = std::chrono::minutes(2);  // beyond the limit of late pods
constexpr Duration kLateOnLease = seconds(480);

std::string IdleNodes(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " idle node" : " idle nodes");
}

bool AsksForTopology(const api::Workload& workload) {
  return std::any_of(workload.spec.pod_sets.begin(), workload.spec.pod_sets.end(),
                     [](const api::PodSet& pods) { return api::AsksForTopology(pods); });
}

}  // namespace

const std::string& CheckDecider::holder() {
  if (holder_.empty()) holder_ = LeaseHolder(workload_.meta.uid, input_.name);
  return holder_;
}

bool CheckDecider::RunsOnLease() const {
  return state_.state == CheckState::kReady &&
         std::any_of(
             state_.pod_set_updates.begin(), state_.pod_set_updates.end(),
             [](const auto& each) { return each.node_selector.contains(api::kLeaseLabel); });
}

std::vector<const api::Node*> CheckDecider::LeasedNodes() {
  std::vector<const api::Node*> nodes;
  if (!situation_.nodes) return nodes;
  for (const NodeSeen& seen : situation_.nodes->nodes) {
    const auto lease = LeaseOf(*seen.node);
    if (lease && lease->holder == holder()) nodes.push_back(seen.node);
  }
  return nodes;
}

std::optional<std::vector<const api::Node*>> CheckDecider::IdleNodesFor() {
  const auto& rule = input_.policy->reuse;
  if (!rule || !rule->enabled || !situation_.nodes) return std::nullopt;
  // A Workload that holds nodes for others asks for new ones.
  if (workload_.meta.labels.contains(api::kPrewarmLabel)) return std::nullopt;
  if (AsksForTopology(workload_) || now_ < memory_.lease_failed + kNoReuseAfterFailure) {
    return std::nullopt;
  }
  auto run = ExpectedRun(workload_, RunOfJob());
  if (!run) run = RunParameter(workload_, config());
  return PlanReuse({.seen = *situation_.nodes,
                    .groups = groups_,
                    .config = config(),
                    .rule = *rule,
                    .holder = holder(),
                    .needed_seconds = NeededLife(*rule, run),
                    .now = now_});
}

bool CheckDecider::Holds(const api::Node& node) {
  const auto lease = LeaseOf(node);
  return lease && lease->holder == holder() && Lives(*lease, now_);
}

// Whether the leased nodes take all pods.
bool CheckDecider::HoldsEnough() {
  const auto plan = IdleNodesFor();
  return plan && std::all_of(plan->begin(), plan->end(),
                             [this](const api::Node* node) { return Holds(*node); });
}

// Leases idle nodes that take all pods, one after the other; with the last lease the check is
// Ready. Returns false where capacity has to be asked for.
bool CheckDecider::UseIdleNodes() {
  if (!plan_) return false;
  const auto plan = IdleNodesFor();
  std::size_t missing = 0;
  for (const api::Node* node : LeasedNodes()) {
    if (plan && std::find(plan->begin(), plan->end(), node) != plan->end()) continue;
    Add(ReleaseLease{node->meta.name, node->meta.resource_version});
  }
  if (!plan) return false;
  for (const api::Node* node : *plan) {
    if (Holds(*node)) continue;
    ++missing;
    Add(TakeLease{node->meta.name, node->meta.resource_version, holder(), now_ + kLeaseLength});
  }
  if (missing > 0) {
    Say(CheckState::kPending, "leasing " + IdleNodes(plan->size()));
    return true;
  }
  Say(CheckState::kReady, "reusing " + IdleNodes(plan->size()));
  state_.pod_set_updates = LeaseUpdates(workload_, groups_, holder(), Updates());
  return true;
}

// Renews the leases of a Workload that runs on leased nodes, and gives nodes up that its pods
// cannot use.
void CheckDecider::KeepLease() {
  if (!plan_ || !RunsOnLease() || !situation_.nodes) return;
  if (memory_.lease_failed != WallTime{} &&
      memory_.lease_failed >= CutToSeconds(state_.last_transition_time)) {
    Say(CheckState::kRetry, memory_.message);
    state_.requeue_after_seconds = 0;
    return;
  }
  if (!admitted() && !HoldsEnough()) {  // no pod was made yet
    Say(CheckState::kPending, "a node that was to be reused has gone");
    state_.pod_set_updates.clear();
    return;
  }
  for (const api::Node* node : LeasedNodes()) {
    if (const auto end = EndOf(*node)) {
      out_.expires_at = std::min(out_.expires_at.value_or(*end), *end);
    }
    const WallTime renew = LeaseOf(*node)->until - kRenewBefore;
    if (now_ < renew) {
      WakeIn(renew - now_);
      continue;
    }
    Add(TakeLease{node->meta.name, node->meta.resource_version, holder(), now_ + kLeaseLength});
    WakeIn(kLeaseLength - kRenewBefore);
  }
  const WallTime came = state_.last_transition_time;
  const auto trouble = TroubleWithPods({.holder = holder()}, [&](Duration limit) {
    const WallTime over = came + limit + kLeaseBooking;
    if (now_ < over) WakeIn(over - now_);
    return now_ >= over;
  });
  if (!trouble) return;
  if (!counted_) counted_ = memory_;
  counted_->lease_failed = CutToSeconds(now_);
  counted_->message =
      TruncateUtf8("Retrying on other nodes: " + trouble->message, kMaxMessageBytes);
}

// What the pods in use of the claim suffer, where the policy wants the Workload to be queued again.
// `booking_over` tells whether nobody keeps the nodes any more, given the limit of late pods.
std::optional<CheckDecider::Trouble> CheckDecider::TroubleWithPods(
    const Claim& claim, const std::function<bool(Duration)>& booking_over) {
  using OnTrouble = api::ProvisioningPolicy::OnTrouble;
  if (!plan_ || !situation_.pods) return std::nullopt;
  const bool leased = claim.request.empty();
  if (leased || input_.policy->on_lost == OnTrouble::kRequeue) {
    Loss loss = LossOf(*situation_.pods, claim, now_);
    if (!loss.message.empty()) return Trouble{kLostNodesReason, std::move(loss.message)};
    if (loss.next) WakeIn(*loss.next - now_);
  }
  // Pods whose part has not come are not late.
  if (current_ != nullptr && IsDivided(*current_)) return std::nullopt;
  const WallTime came = CutToSeconds(state_.last_transition_time);
  const Duration boot = seconds(leased ? std::int64_t{0} : input_.policy->boot_timeout_seconds);
  if (boot > Duration::zero()) {
    Lateness lateness = LatenessOf(*situation_.pods, claim, came, boot, now_);
    if (lateness.late > 0) return Trouble{kBootTimeoutReason, std::move(lateness.message)};
    if (lateness.next) WakeIn(*lateness.next - now_);
  }
  Duration limit = seconds(input_.policy->late_pod_seconds);
  if (limit == Duration::zero() && leased) limit = kLateOnLease;
  if (limit == Duration::zero()) return std::nullopt;
  Lateness lateness = LatenessOf(*situation_.pods, claim, came, limit, now_);
  if (lateness.next) WakeIn(*lateness.next - now_);
  if (lateness.late == 0) return std::nullopt;
  if (memory_.told_late != came) {
    if (!counted_) counted_ = memory_;
    counted_->told_late = came;
    out_.told.push_back(CheckEvent{"PodsLate", input_.name + ": " + lateness.message, true});
    return std::nullopt;
  }
  if (!leased && input_.policy->on_late == OnTrouble::kWait) return std::nullopt;
  if (!booking_over(limit)) return std::nullopt;
  return Trouble{kLatePodsReason, std::move(lateness.message)};
}

// Returns whether the capacity of the request in use is given up.
bool CheckDecider::GivesUp(const api::ProvisioningRequest& request, RequestState state) {
  const auto trouble = TroubleWithPods({.request = request.meta.name}, [state](Duration /*limit*/) {
    return state == RequestState::kBookingExpired;
  });
  if (!trouble) return false;
  Count(request, trouble->reason, trouble->message, now_);
  return true;
}

}  // namespace berth::provisioning

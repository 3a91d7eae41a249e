#include "provisioning/ways/node_leases.h"

#include <algorithm>
#include <chrono>

#include "api/labels.h"
#include "api/provisioning_labels.h"
#include "api/topology_annotations.h"
#include "base/strings.h"
#include "provisioning/lease.h"
#include "provisioning/run_duration.h"
#include "provisioning/ways/pods_in_use.h"

namespace berth::provisioning {
namespace {

using api::CheckState;

constexpr std::size_t kMaxTroubleBytes = 512;
constexpr Duration kNoReuseAfterFailure = std::chrono::hours(1);
constexpr Duration kLeaseBooking = std::chrono::minutes(2);  // beyond the limit of late pods

std::string IdleNodes(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " idle node" : " idle nodes");
}

bool AsksForTopology(const api::Workload& workload) {
  return std::any_of(workload.spec.pod_sets.begin(), workload.spec.pod_sets.end(),
                     [](const api::PodSet& pods) { return api::AsksForTopology(pods); });
}

}  // namespace

bool RunsOnLease(const CheckSituation& check) {
  const auto& updates = check.before.pod_set_updates;
  return check.is_ready() && std::any_of(updates.begin(), updates.end(), [](const auto& each) {
           return each.node_selector.contains(api::kLeaseLabel);
         });
}

NodeLeases::NodeLeases(const CheckSituation& check)
    : check_(check),
      holder_(check.situation.nodes ? LeaseHolder(check.workload.meta.uid, check.input.name) : "") {
}

std::vector<const api::Node*> NodeLeases::LeasedNodes() const {
  std::vector<const api::Node*> nodes;
  if (!check_.situation.nodes) return nodes;
  for (const NodeSeen& seen : check_.situation.nodes->nodes) {
    const auto lease = LeaseOf(*seen.node);
    if (lease && lease->holder == holder_) nodes.push_back(seen.node);
  }
  return nodes;
}

// The idle nodes that take all pods, leased to the check or not; nullopt: there are none.
std::optional<std::vector<const api::Node*>> NodeLeases::NodesToLease() const {
  const auto& rule = check_.input.policy->reuse;
  if (!rule || !rule->enabled || !check_.situation.nodes) return std::nullopt;
  // A Workload that holds nodes for others asks for new ones.
  if (check_.workload.meta.labels.contains(api::kPrewarmLabel)) return std::nullopt;
  if (AsksForTopology(check_.workload) ||
      check_.now < check_.memory.lease_failed + kNoReuseAfterFailure) {
    return std::nullopt;
  }
  auto run = ExpectedRun(check_.workload, check_.RunOfJob());
  if (!run) run = RunParameter(check_.workload, check_.config());
  return PlanReuse({.seen = *check_.situation.nodes,
                    .groups = check_.groups,
                    .config = check_.config(),
                    .rule = *rule,
                    .holder = holder_,
                    .needed_seconds = NeededLife(*rule, run),
                    .now = check_.now});
}

bool NodeLeases::Holds(const api::Node& node) const {
  const auto lease = LeaseOf(node);
  return lease && lease->holder == holder_ && Lives(*lease, check_.now);
}

// Whether the leased nodes take all pods.
bool NodeLeases::HoldsEnough() const {
  const auto plan = NodesToLease();
  return plan && std::all_of(plan->begin(), plan->end(),
                             [this](const api::Node* node) { return Holds(*node); });
}

bool NodeLeases::Take(Move& move) const {
  if (!check_.plan) return false;
  const auto plan = NodesToLease();
  for (const api::Node* node : LeasedNodes()) {
    if (plan && std::find(plan->begin(), plan->end(), node) != plan->end()) continue;
    move.Add(ReleaseLease{node->meta.name, node->meta.resource_version});
  }
  if (!plan) return false;
  std::size_t missing = 0;
  for (const api::Node* node : *plan) {
    if (Holds(*node)) continue;
    ++missing;
    move.Add(TakeLease{node->meta.name, node->meta.resource_version, holder_,
                       check_.now + kLeaseLength});
  }
  if (missing > 0) {
    move.Say(CheckState::kPending, "leasing " + IdleNodes(plan->size()));
    return true;
  }
  move.Ready("reusing " + IdleNodes(plan->size()),
             LeaseUpdates(check_.workload, check_.groups, holder_, check_.Updates()));
  return true;
}

void NodeLeases::Keep(Move& move) const {
  if (!check_.plan || !RunsOnLease(check_) || !check_.situation.nodes) return;
  const api::ProvisioningMemory& memory = check_.memory;
  if (memory.lease_failed != WallTime{} &&
      memory.lease_failed >= CutToSeconds(check_.before.last_transition_time)) {
    return move.Retry(0, memory.message);
  }
  if (!check_.admitted() && !HoldsEnough()) {  // no pod was made yet
    return move.Say(CheckState::kPending, "a node that was to be reused has gone");
  }
  Renew(move);
  GiveUpForTrouble(move);
}

void NodeLeases::Renew(Move& move) const {
  const WallTime now = check_.now;
  for (const api::Node* node : LeasedNodes()) {
    if (const auto end = EndOf(*node)) move.EndsAt(*end);
    const WallTime renew = LeaseOf(*node)->until - kRenewBefore;
    if (now < renew) {
      move.WakeIn(renew - now);
      continue;
    }
    move.Add(TakeLease{node->meta.name, node->meta.resource_version, holder_, now + kLeaseLength});
    move.WakeIn(kLeaseLength - kRenewBefore);
  }
}

void NodeLeases::GiveUpForTrouble(Move& move) const {
  const auto booking_over = [&](Duration limit) {
    const WallTime over = check_.before.last_transition_time + limit + kLeaseBooking;
    if (check_.now < over) move.WakeIn(over - check_.now);
    return check_.now >= over;
  };
  const auto trouble = TroubleWithPods(check_, {.holder = holder_}, booking_over, move);
  if (!trouble) return;
  api::ProvisioningMemory& memory = move.Remember(check_.memory);
  memory.lease_failed = CutToSeconds(check_.now);
  memory.message = TruncateUtf8("Retrying on other nodes: " + trouble->message, kMaxTroubleBytes);
}

}  // namespace berth::provisioning

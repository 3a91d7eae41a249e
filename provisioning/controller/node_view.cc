#include "provisioning/controller/node_view.h"

#include <algorithm>
#include <map>
#include <memory>

#include "api/labels.h"
#include "api/pod_phase.h"
#include "api/pool_of_node.h"
#include "api/provisioning_labels.h"
#include "api/reasons.h"
#include "provisioning/late_pods.h"
#include "provisioning/lease.h"
#include "provisioning/race.h"
#include "provisioning/request_state.h"
#include "provisioning/reuse.h"

namespace berth::provisioning {
namespace {

// Indexes.
constexpr char kHolding[] = "nodeView/holding";    // pods: their node
constexpr char kDaemons[] = "nodeView/daemons";    // pods of daemons: their node
constexpr char kClaims[] = "nodeView/claims";      // pods: the request or lease they use
constexpr char kLeases[] = "nodeView/leases";      // nodes: the Workload of their lease
constexpr char kHolders[] = "nodeView/holders";    // nodes: the holder of their lease
constexpr char kSets[] = "nodeView/sets";          // nodes: the request that brought them
constexpr char kBookings[] = "nodeView/bookings";  // requests: the name that their nodes carry
constexpr char kWaiting[] = "nodeView/waiting";    // Workloads of several pods that wait to start

constexpr char kUnnamed[] = "?";  // in kBookings: the request does not name its nodes
constexpr char kYes[] = "yes";
constexpr char kResizeDetail[] = "ResizeRequestName";
constexpr std::size_t kMostWaiting = 1000;  // gangs that one decision looks at

std::string RequestClaim(const std::string& space, const std::string& request) {
  return "request/" + space + "/" + request;
}
std::string LeaseClaim(const std::string& holder) { return "lease/" + holder; }

std::vector<std::string> ClaimsOf(const api::Pod& pod) {
  if (api::HasEnded(pod) && LostItsNode(pod) == nullptr) return {};
  std::vector<std::string> claims;
  const std::string* request =
      api::FindValue(pod.meta.annotations, api::kConsumeProvisioningRequestAnnotation);
  if (request != nullptr) claims.push_back(RequestClaim(pod.meta.namespace_name, *request));
  const std::string* holder = api::FindValue(pod.spec.node_selector, api::kLeaseLabel);
  if (holder != nullptr) claims.push_back(LeaseClaim(*holder));
  return claims;
}

// A request that has nodes, or waits for them in the cloud's queue.
std::vector<std::string> BookingOf(const api::ProvisioningRequest& request) {
  if (request.meta.deletion_timestamp) return {};
  switch (StateOf(request)) {
    case RequestState::kAccepted:
    case RequestState::kProvisioned:
    case RequestState::kBookingExpired: break;
    default: return {};
  }
  const std::string* name = api::FindValue(request.provisioning_class_details, kResizeDetail);
  return {name == nullptr || name->empty() ? kUnnamed : *name};
}

std::vector<std::string> WaitingGang(const api::Workload& workload) {
  const auto& conditions = workload.status.conditions;
  if (!workload.spec.active || workload.meta.deletion_timestamp ||
      api::IsTrue(conditions, api::kFinished) || api::IsTrue(conditions, api::kAdmitted)) {
    return {};
  }
  std::int64_t pods = 0;
  for (const api::PodSet& each : workload.spec.pod_sets) pods += each.count;
  if (pods <= 1) return {};
  return {kYes};
}

bool IsReady(const api::Node& node) { return api::IsTrue(node.conditions, "Ready"); }

bool LeaseChanged(const api::Node& a, const api::Node& b) {
  const auto was = LeaseOf(a);
  const auto is = LeaseOf(b);
  return was.has_value() != is.has_value() || (was && was->holder != is->holder) ||
         (was && was->until != is->until) || LeasedTo(a) != LeasedTo(b);
}

}  // namespace

bool NeedsNodes(const api::ProvisioningPolicy& policy) {
  return (policy.reuse && policy.reuse->enabled) || policy.late_pod_seconds > 0 ||
         policy.boot_timeout_seconds > 0 ||
         policy.on_lost == api::ProvisioningPolicy::OnTrouble::kRequeue;
}

NodeView::NodeView(kube::Manager& manager, kube::Informer<api::Workload>& workloads,
                   kube::Informer<api::ProvisioningRequest>& requests, Wake wake)
    : manager_(manager), workloads_(workloads), requests_(requests), wake_(std::move(wake)) {}

void NodeView::Open() {
  if (nodes_ != nullptr) return;
  nodes_ = &manager_.InformerFor<api::Node>();
  pods_ = &manager_.InformerFor<api::Pod>();
  AddIndexes();
  WatchPods();
  WatchNodes();
}

bool NodeView::IsOpen() const {
  return nodes_ != nullptr && nodes_->has_synced() && pods_->has_synced();
}

bool NodeView::IsLoading() const {
  return nodes_ != nullptr && !IsOpen() && !nodes_->is_missing() && !pods_->is_missing();
}

void NodeView::AddIndexes() {
  pods_->AddIndex(kHolding, [](const api::Pod& pod) {
    if (pod.spec.node_name.empty() || api::HasEnded(pod) || api::IsDaemon(pod)) {
      return std::vector<std::string>{};
    }
    return std::vector{pod.spec.node_name};
  });
  pods_->AddIndex(kDaemons, [](const api::Pod& pod) {
    if (pod.spec.node_name.empty() || api::HasEnded(pod) || !api::IsDaemon(pod)) {
      return std::vector<std::string>{};
    }
    return std::vector{pod.spec.node_name};
  });
  pods_->AddIndex(kClaims, ClaimsOf);
  nodes_->AddIndex(kLeases, [](const api::Node& node) {
    const auto key = provisioning::LeasedTo(node);
    return key ? std::vector{key->ToString()} : std::vector<std::string>{};
  });
  nodes_->AddIndex(kHolders, [](const api::Node& node) {
    const auto lease = LeaseOf(node);
    return lease ? std::vector{lease->holder} : std::vector<std::string>{};
  });
  nodes_->AddIndex(kSets, [](const api::Node& node) {
    std::string set = SetOf(node);
    return set.empty() ? std::vector<std::string>{} : std::vector{std::move(set)};
  });
  requests_.AddIndex(kBookings, BookingOf);
  workloads_.AddIndex(kWaiting, WaitingGang);
}

void NodeView::Refresh(const std::string& node) {
  if (nodes_->Get({"", node}) != nullptr && !pods_->HasIn(kHolding, node)) {
    idle_.insert(node);
  } else {
    idle_.erase(node);
  }
}

void NodeView::WatchNodes() {
  nodes_->AddHandler({.on_add =
                          [this](const auto& node) {
                            Refresh(node->meta.name);
                            CountLease(node->meta.name, LeaseOf(*node).has_value());
                            if (const auto key = provisioning::LeasedTo(*node)) wake_(*key);
                          },
                      .on_update =
                          [this](const auto& before, const auto& node) {
                            CountLease(node->meta.name, LeaseOf(*node).has_value());
                            if (LeaseChanged(*before, *node)) {
                              WakeUsersOfNode(*before);
                              WakeUsersOfNode(*node);
                            } else if (IsReady(*before) != IsReady(*node)) {
                              WakeUsersOfNode(*node);
                            }
                          },
                      .on_delete =
                          [this](const auto& node) {
                            Refresh(node->meta.name);
                            CountLease(node->meta.name, false);
                            WakeUsersOfNode(*node);
                          }});
}

void NodeView::CountLease(const std::string& node, bool leased) {
  const bool changed = leased ? leased_.insert(node).second : leased_.erase(node) > 0;
  if (changed && tell_leases_) tell_leases_(leased_.size());
}

void NodeView::WatchPods() {
  const auto look = [this](const auto& pod) {
    if (pod->spec.node_name.empty()) return WakeUsersOf(*pod);
    Refresh(pod->spec.node_name);
  };
  pods_->AddHandler({.on_add = look,
                     .on_update =
                         [this](const auto& before, const auto& pod) {
                           if (LostItsNode(*pod) != nullptr && LostItsNode(*before) == nullptr) {
                             WakeUsersOf(*pod);
                           }
                           if (before->spec.node_name == pod->spec.node_name &&
                               api::HasEnded(*before) == api::HasEnded(*pod)) {
                             return;
                           }
                           if (!pod->spec.node_name.empty()) Refresh(pod->spec.node_name);
                         },
                     .on_delete =
                         [this](const auto& pod) {
                           if (!pod->spec.node_name.empty()) Refresh(pod->spec.node_name);
                         }});
}

// The Workload of the request or the lease that the pod uses.
void NodeView::WakeUsersOf(const api::Pod& pod) const {
  const std::string* request =
      api::FindValue(pod.meta.annotations, api::kConsumeProvisioningRequestAnnotation);
  if (request != nullptr) {
    const auto found = requests_.Get({pod.meta.namespace_name, *request});
    const api::OwnerReference* owner = found == nullptr ? nullptr : api::ControllerOf(found->meta);
    if (owner != nullptr) wake_({pod.meta.namespace_name, owner->name});
  }
  const std::string* holder = api::FindValue(pod.spec.node_selector, api::kLeaseLabel);
  if (holder == nullptr) return;
  for (const auto& node : nodes_->ByIndex(kHolders, *holder)) {
    if (const auto key = provisioning::LeasedTo(*node)) return wake_(*key);
  }
}

void NodeView::WakeUsersOfNode(const api::Node& node) const {
  if (const auto key = provisioning::LeasedTo(node)) wake_(*key);
  for (const auto& pod : pods_->ByIndex(kHolding, node.meta.name)) WakeUsersOf(*pod);
}

std::vector<std::shared_ptr<const api::Node>> NodeView::LeasedTo(
    const api::ObjectKey& workload) const {
  if (nodes_ == nullptr) return {};
  return nodes_->ByIndex(kLeases, workload.ToString());
}

// The requests of others that nodes may belong to, and the gangs that may want whole sets.
void NodeView::TakeBookings(const api::Workload& workload, NodesSeen& seen) const {
  const auto of_another = [this, &workload](const std::string& name) {
    const auto requests = requests_.ByIndex(kBookings, name);
    return std::any_of(requests.begin(), requests.end(), [this, &workload](const auto& request) {
      const api::OwnerReference* owner = api::ControllerOf(request->meta);
      if (owner == nullptr) return true;
      const auto holder = workloads_.Get({request->meta.namespace_name, owner->name});
      if (holder != nullptr && holder->meta.labels.contains(api::kPrewarmLabel)) return false;
      if (holder != nullptr && holder->meta.uid == owner->uid && HasLost(*request, *holder)) {
        return false;
      }
      return owner->uid != workload.meta.uid;
    });
  };
  bool sets = false;
  std::set<std::string> asked;
  for (const NodeSeen& each : seen.nodes) {
    sets = sets || each.set_size > 1;
    const std::string set = SetOf(*each.node);
    if (!set.empty() && asked.insert(set).second && of_another(set)) seen.booked.insert(set);
  }
  seen.unnamed_booking = !seen.nodes.empty() && of_another(kUnnamed);
  if (!sets) return;
  for (const auto& gang : workloads_.ByIndex(kWaiting, kYes)) {
    if (seen.waiting.size() >= kMostWaiting) break;
    if (gang->meta.uid != workload.meta.uid) seen.waiting.push_back(gang.get());
  }
}

NodesSeen NodeView::NodesFor(const api::Workload& workload, Idle idle) const {
  NodesSeen seen;
  std::set<std::string> taken;
  std::map<std::string, std::int64_t> size_by_set;
  const auto add = [&](const api::Node& node) {
    if (!taken.insert(node.meta.name).second) return;
    NodeSeen each{.node = &node, .idle = idle_.contains(node.meta.name)};
    for (const auto& pod : pods_->ByIndex(kDaemons, node.meta.name)) {
      for (const auto& [resource, amount] : api::PodRequests(pod->spec)) {
        each.taken[resource] = api::AddAmounts(each.taken[resource], amount);
      }
      ++each.taken["pods"];
    }
    if (const std::string set = SetOf(node); !set.empty()) {
      const auto [size, is_new] = size_by_set.try_emplace(set, 0);
      if (is_new) size->second = static_cast<std::int64_t>(nodes_->ByIndex(kSets, set).size());
      each.set_size = size->second;
    }
    seen.nodes.push_back(std::move(each));
  };
  for (const auto& node : LeasedTo(workload.meta.key())) add(*node);
  if (idle == Idle::kLeaveOut) return seen;
  for (const std::string& name : idle_) {
    if (const auto node = nodes_->Get({"", name})) add(*node);
  }
  TakeBookings(workload, seen);
  return seen;
}

PodsSeen NodeView::PodsFor(const Situation& situation) const {
  PodsSeen seen;
  std::vector<std::string> claims;
  std::set<std::string> nodes;
  for (const api::ProvisioningRequest& request : situation.requests) {
    claims.push_back(RequestClaim(request.meta.namespace_name, request.meta.name));
    const std::string* set = api::FindValue(request.provisioning_class_details, kResizeDetail);
    if (set == nullptr || set->empty()) continue;
    for (const auto& node : nodes_->ByIndex(kSets, *set)) nodes.insert(node->meta.name);
  }
  for (const CheckInput& check : situation.checks) {
    const std::string holder = LeaseHolder(situation.workload->meta.uid, check.name);
    claims.push_back(LeaseClaim(holder));
    for (const auto& node : nodes_->ByIndex(kHolders, holder)) nodes.insert(node->meta.name);
  }
  std::set<const api::Pod*> ours;
  for (const std::string& claim : claims) {
    for (const auto& pod : pods_->ByIndex(kClaims, claim)) {
      if (!ours.insert(pod.get()).second) continue;
      seen.pods.push_back(pod.get());
      if (pod->spec.node_name.empty()) continue;
      nodes.insert(pod->spec.node_name);
      seen.nodes[pod->spec.node_name] = nodes_->Get({"", pod->spec.node_name}).get();
    }
  }
  for (const std::string& node : nodes) {
    for (const auto& pod : pods_->ByIndex(kHolding, node)) {
      if (!ours.contains(pod.get())) seen.foreign.push_back(pod.get());
    }
  }
  return seen;
}

}  // namespace berth::provisioning

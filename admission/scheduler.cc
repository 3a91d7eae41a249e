#include "admission/scheduler.h"

#include <utility>

#include "base/prefetch.h"

namespace berth::admission {
namespace {

double ToDouble(const api::Quantity& quantity) {
  constexpr std::int64_t kMostInNano = INT64_MAX / 1'000'000'000;
  const std::int64_t whole = quantity.Value();
  return whole < kMostInNano ? static_cast<double>(quantity.NanoValue()) * 1e-9
                             : static_cast<double>(whole);
}

// The targets without the cohorts below another target, which are woken with that target.
std::vector<WakeTarget> OutermostOf(const ClusterState& state,
                                    const std::set<WakeTarget>& targets) {
  const QuotaTree& tree = state.tree();
  const auto node_of = [&](const WakeTarget& target) {
    const std::optional<NodeId> node =
        target.queue < 0 ? state.CohortNode(target.cohort) : std::nullopt;
    return node && !tree.InCycle(*node) ? *node : kNoQuotaNode;
  };
  std::set<NodeId> targeted;
  for (const WakeTarget& target : targets) targeted.insert(node_of(target));
  std::map<NodeId, bool> covered;  // whether the node or one above is targeted
  std::vector<WakeTarget> outermost;
  for (const WakeTarget& target : targets) {
    const NodeId own = node_of(target);
    std::vector<NodeId> path;
    NodeId node = own == kNoQuotaNode ? kNoQuotaNode : tree.parent(own);
    for (; node != kNoQuotaNode && !covered.contains(node); node = tree.parent(node)) {
      path.push_back(node);
    }
    bool is_covered = node != kNoQuotaNode && covered.at(node);
    for (std::size_t i = path.size(); i-- > 0;) {
      is_covered = is_covered || targeted.contains(path[i]);
      covered[path[i]] = is_covered;
    }
    if (!is_covered) outermost.push_back(target);
  }
  return outermost;
}

}  // namespace

Scheduler::Scheduler(const SchedulerConfig& config)
    : config_(config),
      queues_(config.gates.scheduling_equivalence_hashing, config.listing),
      state_(queues_),
      search_(state_, config_.gates, config_.fair_sharing),
      cycle_runner_({state_, queues_, config_.gates, config_.own_rules, search_, history_,
                     config_.fair_sharing.has_value(), config_.block_admission,
                     config_.ignore_undeclared_resources}) {
  info_options_.ordering.pods_ready_requeuing = config.pods_ready_requeuing;
  info_options_.ordering.priority_sorting_within_cohort =
      config.gates.priority_sorting_within_cohort;
  info_options_.ordering.priority_boost = config.gates.priority_boost;
  if (!config.gates.reclaimable_pods) info_options_.reclaim = queue::ReclaimRule::kIgnored;
  info_options_.equivalence_hashing = config.gates.scheduling_equivalence_hashing;
  info_options_.excluded_resource_prefixes = config.excluded_resource_prefixes;
  info_options_.transformations = config.transformations;
  device_claims_.Use(config.device_classes, config.claims_of, config.device_counters);
  for (const auto& [name, resource] : config.device_classes) {
    info_options_.device_resources.push_back(resource);
  }
  for (const auto& [name, counters] : config.device_counters) {
    for (const DeviceCounter& each : counters) {
      info_options_.device_resources.push_back(each.resource);
    }
  }
  state_.placer().SetProfile({config.gates.tas_profile_mixed, config.gates.tas_balanced_placement,
                              config.gates.tas_respect_node_affinity_preferred});
  if (config.count_pending) queues_.CountPending(config.pending_values);
  if (config.admission_fair_sharing) {
    ledger_.emplace(*config.admission_fair_sharing);
    queues_.OrderByUsage();
    search_.UseLedger(&*ledger_);
  }
}

void Scheduler::Request(const Wakes& wakes) { wake_ups_.insert(wakes.begin(), wakes.end()); }

void Scheduler::RequestFor(ClusterQueueId queue) {
  if (const std::optional<WakeTarget> tree = state_.TreeOf(queue)) wake_ups_.insert(*tree);
}

void Scheduler::ApplyNamespace(const api::Namespace& object) {
  std::optional<api::StringMap> before;
  const auto known = namespace_labels_.find(object.meta.name);
  if (known != namespace_labels_.end()) before = known->second;
  queues_.SetNamespace(object.meta.name, object.meta.labels);
  namespace_labels_[object.meta.name] = object.meta.labels;
  if (before == object.meta.labels) return;
  for (const ClusterQueueId queue : queues_.NewlyMatching(before, object.meta.labels)) {
    RequestFor(queue);
  }
}

void Scheduler::ForgetNamespace(const std::string& name) {
  queues_.RemoveNamespace(name);
  namespace_labels_.erase(name);
}

void Scheduler::ApplyResourceFlavor(const api::ResourceFlavor& object) {
  Request(state_.SetFlavor(object));
}
void Scheduler::ForgetResourceFlavor(const std::string& name) {
  Request(state_.RemoveFlavor(name));
}
void Scheduler::ApplyAdmissionCheck(const api::AdmissionCheck& object) {
  Request(state_.SetCheck(object));
}
void Scheduler::ForgetAdmissionCheck(const std::string& name) { Request(state_.RemoveCheck(name)); }
void Scheduler::ApplyTopology(const api::Topology& object) { Request(state_.SetTopology(object)); }
void Scheduler::ForgetTopology(const std::string& name) { Request(state_.RemoveTopology(name)); }
void Scheduler::ApplyCohort(const api::Cohort& object) {
  const std::optional<WakeTarget> before = TreeOfCohort(object.meta.name);
  const ClusterState::CohortChange change = state_.SetCohort(object);
  Request(change.wakes);
  if (change.changed) history_.Clear();  // other queues may preempt
  RequestLeft(before, TreeOfCohort(object.meta.name));
}
void Scheduler::ForgetCohort(const std::string& name) {
  const std::optional<WakeTarget> before = TreeOfCohort(name);
  const ClusterState::CohortChange change = state_.RemoveCohort(name);
  Request(change.wakes);
  if (change.changed) history_.Clear();
  const std::optional<WakeTarget> after = TreeOfCohort(name);
  RequestLeft(before, after);
  RequestLeft(after, before);  // what it lent to the tree that it left is free again
}
void Scheduler::ApplyClusterQueue(const api::ClusterQueue& object) {
  const std::optional<ClusterQueueId> known = state_.FindQueue(object.meta.name);
  const std::optional<WakeTarget> before = known ? state_.TreeOf(*known) : std::nullopt;
  const Wakes wakes = state_.SetClusterQueue(object);
  if (!wakes.empty()) history_.Clear();  // its new preemption policy may allow other victims
  Request(wakes);
  if (known) RequestLeft(before, state_.TreeOf(*known));
}

std::optional<WakeTarget> Scheduler::TreeOfCohort(const std::string& name) const {
  const std::optional<NodeId> node = state_.CohortNode(name);
  if (!node || state_.tree().InCycle(*node)) return std::nullopt;
  return WakeTarget{-1, state_.CohortName(state_.tree().Root(*node))};
}

// A node that moved may have borrowed from the tree that it left.
void Scheduler::RequestLeft(const std::optional<WakeTarget>& before,
                            const std::optional<WakeTarget>& after) {
  if (config_.own_rules.wake_the_tree_left && before && before != after) wake_ups_.insert(*before);
}
void Scheduler::ForgetClusterQueue(const std::string& name) {
  if (state_.FindQueue(name)) history_.Clear();
  Request(state_.RemoveClusterQueue(name));
}
// The workloads leave their queue; requeued ones start a new scan.
void Scheduler::ForgetScans(const api::ObjectKey& local_queue) {
  for (const WorkloadId id : queues_.MembersOf(local_queue)) record(id).scan.reset();
}

void Scheduler::ApplyLocalQueue(const api::LocalQueue& object) {
  if (object.stop_policy != api::StopPolicy::kNone) ForgetScans(object.meta.key());
  queues_.SetLocalQueue(object.meta.key(), object.cluster_queue, object.stop_policy);
  if (!ledger_) return;
  ledger_->SetWeight(object.meta.key(), static_cast<double>(object.fair_weight_nano) * 1e-9);
  if (const auto& history = object.status.usage_history) {
    UsageHistory restored{{}, history->last_update};
    for (const auto& [resource, amount] : history->consumed) {
      restored.consumed[resource] = ToDouble(amount);
    }
    ledger_->Restore(object.meta.key(), std::move(restored));
  }
  UsageChanged(object.meta.key());
}
void Scheduler::ForgetLocalQueue(const api::ObjectKey& key) {
  ForgetScans(key);
  queues_.RemoveLocalQueue(key);
  if (ledger_) ledger_->Forget(key);
}

const ScanState* Scheduler::CurrentScan(const Record& asked, ClusterQueueId queue) const {
  const ScanState* scan = asked.scan.get();
  if (scan == nullptr) return nullptr;
  if (config_.gates.flavor_fungibility_preserve_scan_progress) {
    if (scan->shape != asked.info.shape) return nullptr;
    if (scan->cycle == cycle_ - 1) return scan;
  }
  return state_.ChangedSince(queue, scan->changes_seen) ? nullptr : scan;
}

void Scheduler::KeepScan(Record& kept, const Decision& decision) {
  if (decision.outcome == Outcome::kNotNominated) return;
  const ScanState& scan = decision.assignment.scan;
  if (!scan.HasPendingFlavors() || EndsScan(kept, decision)) return kept.scan.reset();
  auto next = std::make_unique<ScanState>(scan);
  if (kept.scan != nullptr && scan.attempts > 1) {
    next->Mark(*kept.scan);
  } else {
    next->Mark();
  }
  kept.scan = std::move(next);
}

// Whether a scan that has found no flavor would find none later either.
bool Scheduler::EndsScan(const Record& kept, const Decision& decision) const {
  const bool found_none = decision.requeue_reason == queue::RequeueReason::kNoFit ||
                          decision.requeue_reason == queue::RequeueReason::kPreemptionNoCandidates;
  if (!config_.own_rules.rescan_after_changes || !found_none) return false;
  const ScanState& scan = decision.assignment.scan;
  if (!scan.HasPendingFlavors()) return true;
  return scan.attempts > 1 && kept.scan != nullptr && kept.scan->mark == scan.positions &&
         !state_.ChangedSince(decision.cluster_queue, kept.scan->marked_at);
}

// Whether the scan ends, and tried its first flavors before quota came free.
bool Scheduler::HasMissedChanges(const Record& kept, const Decision& decision) const {
  const ScanState& scan = decision.assignment.scan;
  return scan.begun_at != scan.changes_seen && EndsScan(kept, decision) &&
         state_.ChangedSince(decision.cluster_queue, scan.begun_at);
}

const CycleResult& Scheduler::RunCycle(WallTime now) {
  CycleResult& result = result_;
  result.cycle = ++cycle_;
  result.bulk_parked.clear();
  result.refused_parked = 0;
  queues_.TakeHeads(heads_);
  inputs_.clear();
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    if (i + kPrefetchAhead < heads_.size()) {
      Prefetch(&record(heads_[i + kPrefetchAhead].workload), sizeof(Record));
    }
    const queue::Head& head = heads_[i];
    if (refused_.count(head.workload) > 0) {
      // The workload stays the head of a StrictFIFO queue, as it does in Kueue. The workload
      // reconciler writes the reason.
      const auto requeued =
          queues_.Requeue(head, queue::RequeueReason::kGeneric, queue::QueueSet::Scan::kDone, now);
      if (requeued.to == queue::Destination::kInadmissible) ++result.refused_parked;
      continue;
    }
    Record& taken = record(head.workload);
    if (taken.plan != nullptr) EndPlanWithoutProgress(taken, head.cluster_queue, now);
    inputs_.push_back({head, &taken.info, CurrentScan(taken, head.cluster_queue),
                       config_.gates.prioritize_preemptor_workloads && queues_.IsPreemptor(head),
                       taken.plan.get()});
    inputs_.back().replaces = SliceReplacedBy(*taken.info.object, head.cluster_queue);
  }
  AddSecondPasses(inputs_, now);
  cycle_runner_.Run(cycle_, inputs_, result.decisions);
  for (std::size_t i = 0; i < result.decisions.size(); ++i) {
    if (i + kPrefetchAhead < result.decisions.size()) {
      const Decision& next = result.decisions[i + kPrefetchAhead];
      Prefetch(&record(next.workload), sizeof(Record));
      if (!next.second_pass) queues_.Expect({next.workload, next.cluster_queue});
    }
    Decision& decision = result.decisions[i];
    if (decision.second_pass) {
      FinishSecondPass(decision, now);
      continue;
    }
    if (GivesQuota(decision)) {
      Assume(decision, now);
      continue;
    }
    Record& decided = record(decision.workload);
    const bool begins_again = HasMissedChanges(decided, decision);
    KeepScan(decided, decision);
    KeepPlan(decided, decision, now);
    const bool tried =
        decision.outcome != Outcome::kNotNominated || !config_.own_rules.park_heads_not_tried;
    const auto scan = tried && (decided.scan != nullptr || begins_again)
                          ? queue::QueueSet::Scan::kPendingFlavors
                          : queue::QueueSet::Scan::kDone;
    queue::QueueSet::RequeueResult put = queues_.Requeue(
        {decision.workload, decision.cluster_queue}, decision.requeue_reason, scan, now);
    decision.to = put.to;
    if (decided.plan != nullptr) queues_.PutFirst({decision.workload, decision.cluster_queue});
    for (const WorkloadId parked : put.bulk_parked) result.bulk_parked.push_back({parked, i});
  }
  return result;
}

Scheduler::WokenWorkloads Scheduler::RunWakeUps(WallTime now) {
  WokenWorkloads woken;
  if (!freed_flavors_.empty()) {
    Request(state_.UsersOf({freed_flavors_.begin(), freed_flavors_.end()}));
    freed_flavors_.clear();
  }
  const std::set<WakeTarget> targets = std::exchange(wake_ups_, {});
  auto* list = config_.listing == queue::Listing::kAll ? &woken.listed : nullptr;
  for (const WakeTarget& target : OutermostOf(state_, targets)) {
    std::vector<ClusterQueueId> queues = state_.QueuesOf(target);
    if (list != nullptr) queues_.SortByName(queues);
    for (const ClusterQueueId queue : queues) {
      woken.count += queues_.Wake(queue, now, list);
    }
  }
  return woken;
}

const std::shared_ptr<const api::Workload>& Scheduler::object(WorkloadId id) const {
  static const std::shared_ptr<const api::Workload> kNone;
  const auto slot = static_cast<std::size_t>(id);
  return slot < records_.size() ? records_[slot]->info.object : kNone;
}

std::optional<WorkloadId> Scheduler::Find(const api::ObjectKey& key) const {
  const auto found = numbers_.find(key);
  if (found == numbers_.end()) return std::nullopt;
  return *found;
}

std::string Scheduler::PathOf(ClusterQueueId queue) const {
  const std::string& name = state_.queue(queue).name;
  const NodeId leaf = state_.queue(queue).node;
  if (leaf == kNoQuotaNode || state_.tree().InCycle(leaf)) return "/" + name;
  std::vector<NodeId> cohorts;
  for (NodeId node = state_.tree().parent(leaf); node != kNoQuotaNode;
       node = state_.tree().parent(node)) {
    cohorts.push_back(node);
  }
  std::string path = "/";
  for (std::size_t i = cohorts.size(); i-- > 0;) path += state_.CohortName(cohorts[i]) + "/";
  return path + name;
}

}  // namespace berth::admission

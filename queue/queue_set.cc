#include "queue/queue_set.h"

#include <algorithm>
#include <utility>

#include "api/condition.h"
#include "api/job_user.h"
#include "api/pod_groups.h"
#include "api/reasons.h"
#include "base/prefetch.h"

namespace berth::queue {
namespace {

// Whether the change of the object can make it admissible or change its order.
bool Matters(const api::Workload& before, const api::Workload& after) {
  const auto condition_changed = [&](const char* type) {
    const api::Condition* old_one = api::FindCondition(before.status.conditions, type);
    const api::Condition* new_one = api::FindCondition(after.status.conditions, type);
    if (old_one == nullptr || new_one == nullptr) return old_one != new_one;
    return !(*old_one == *new_one);
  };
  return before.meta.generation != after.meta.generation ||
         DecidingAnnotationsDiffer(before, after) || before.spec.priority != after.spec.priority ||
         before.status.reclaimable_pods != after.status.reclaimable_pods ||
         before.status.requeue_state != after.status.requeue_state ||
         condition_changed(api::kEvicted) || condition_changed(api::kRequeued) ||
         condition_changed(api::kWaitingForReplacementPods);
}

bool IsImmediate(RequeueReason reason, api::QueueingStrategy strategy) {
  if (strategy == api::QueueingStrategy::kStrictFifo) {
    return reason != RequeueReason::kNamespaceMismatch;
  }
  return reason == RequeueReason::kFailedAfterNomination ||
         reason == RequeueReason::kPendingPreemption || reason == RequeueReason::kPreemptionFailed;
}

}  // namespace

void SortByName(const Names& names, std::vector<ClusterQueueId>& queues) {
  std::sort(queues.begin(), queues.end(),
            [&names](ClusterQueueId a, ClusterQueueId b) { return names[a] < names[b]; });
}

ClusterQueueId QueueSet::ClusterQueueNumber(const std::string& name) {
  const ClusterQueueId number = NumberFor(name);
  entry(number).pinned = true;
  return number;
}

ClusterQueueId QueueSet::NumberFor(const std::string& cluster_queue) {
  const ClusterQueueId number = present_.names().Intern(cluster_queue);
  while (static_cast<std::size_t>(number) >= queues_.size()) {
    const auto next = static_cast<ClusterQueueId>(queues_.size());
    queues_.push_back(
        std::make_unique<ClusterQueueEntry>(next, listing_, nodes_, usages_, counts_));
  }
  return number;
}

// A queue that only LocalQueues name was never present, so no other table has its number.
void QueueSet::DropClusterQueueNumber(ClusterQueueId queue) {
  if (queue < 0 || entry(queue).pinned || !entry(queue).local_queues.empty()) return;
  present_.names().Release(queue);
}

void QueueSet::SetClusterQueue(ClusterQueueId queue, const ClusterQueueSettings& settings) {
  ClusterQueueEntry& changed = entry(queue);
  changed.settings = settings;
  const bool by_usage = order_by_usage_ && settings.by_usage;
  if (PendingQueue::Order order = changed.pending.order(); by_usage != order.by_usage) {
    DequeueAll(changed);
    order.by_usage = by_usage;
    changed.pending.SetOrder(order);
    if (changed.present) EnqueueAll(changed);
  }
  if (changed.present) return NoteHead(queue);
  changed.present = true;
  present_.Add(queue);
  EnqueueAll(changed);
}

void QueueSet::NoteAge(WorkloadId workload, bool waits) {
  const PendingNode& noted = node(workload);
  if (noted.cluster_queue < 0 || !entry(noted.cluster_queue).lists_ages) return;
  auto& by_age = entry(noted.cluster_queue).by_age;
  const std::pair<WallTime, WorkloadId> age{noted.queued_at, workload};
  const bool changed = waits ? by_age.insert(age).second : by_age.erase(age) > 0;
  if (changed) ++age_version_;
}

void QueueSet::SetActive(ClusterQueueId queue, bool active) {
  entry(queue).settings.active = active;
  NoteHead(queue);
}

void QueueSet::RemoveClusterQueue(ClusterQueueId queue) {
  ClusterQueueEntry& removed = entry(queue);
  if (!removed.present) return;
  DequeueAll(removed);
  removed.present = false;
  present_.Remove(queue);
}

void QueueSet::DropLocalQueueNumber(std::int32_t local_queue) {
  const auto slot = static_cast<std::size_t>(local_queue);
  LocalQueues::Entry& dropped = local_queues_.at(local_queue);
  if (dropped.known || !dropped.members.empty()) return;
  if (dropped.cluster_queue >= 0) {
    std::erase(entry(dropped.cluster_queue).local_queues, local_queue);
    DropClusterQueueNumber(dropped.cluster_queue);
  }
  local_queues_.Release(local_queue);
  if (slot < usages_.size()) usages_[slot] = 0.0;
}

void QueueSet::SetNamespaceOf(PendingNode& changed, std::int32_t namespace_id) {
  const std::int32_t before = changed.namespace_id;
  if (before == namespace_id) return;
  changed.namespace_id = namespace_id;
  if (namespace_id >= 0) namespaces_.AddMember(namespace_id);
  if (before >= 0) namespaces_.RemoveMember(before);
}

void QueueSet::SetLocalQueue(const api::ObjectKey& key, const std::string& cluster_queue,
                             api::StopPolicy stop_policy) {
  const std::int32_t number = local_queues_.NumberFor(key);
  LocalQueues::Entry& changed = local_queues_.at(number);
  const ClusterQueueId target = NumberFor(cluster_queue);
  if (changed.cluster_queue != target) {
    if (changed.present) DequeueMembers(number);
    changed.present = false;
    const ClusterQueueId before = changed.cluster_queue;
    if (before >= 0) std::erase(entry(before).local_queues, number);
    changed.cluster_queue = target;
    entry(target).local_queues.push_back(number);
    DropClusterQueueNumber(before);
  }
  changed.known = true;
  changed.stopped = stop_policy != api::StopPolicy::kNone;
  if (changed.stopped) {
    if (changed.present) DequeueMembers(number);
    changed.present = false;
  } else if (!changed.present) {
    changed.present = true;
    EnqueueMembers(number);
  }
}

void QueueSet::RemoveLocalQueue(const api::ObjectKey& key) {
  const std::int32_t number = local_queues_.Find(key);
  if (number == LocalQueues::kNone) return;
  LocalQueues::Entry& removed = local_queues_.at(number);
  if (removed.present) DequeueMembers(number);
  removed.present = removed.known = removed.stopped = false;
  DropLocalQueueNumber(number);
}

void QueueSet::SetUsage(const api::ObjectKey& local_queue, double usage) {
  const std::int32_t known = local_queues_.Find(local_queue);
  if (known == LocalQueues::kNone) return;
  const auto number = static_cast<std::size_t>(known);
  if (number >= usages_.size()) usages_.resize(number + 1, 0.0);
  if (usages_[number] == usage) return;
  usages_[number] = usage;
  const ClusterQueueId queue = local_queues_.at(known).cluster_queue;
  if (queue < 0) return;
  entry(queue).pending.Resort();
  PendingChanged(queue);
}

bool QueueSet::NamespacePasses(ClusterQueueId queue, const std::string& namespace_name) const {
  return namespaces_.Matches(entry(queue).settings.namespace_selector,
                             namespaces_.Find(namespace_name));
}

bool QueueSet::NamespacePasses(const Head& head) const {
  return namespaces_.Matches(entry(head.cluster_queue).settings.namespace_selector,
                             node(head.workload).namespace_id);
}

std::vector<ClusterQueueId> QueueSet::NewlyMatching(const std::optional<api::StringMap>& before,
                                                    const api::StringMap& now) const {
  std::vector<ClusterQueueId> matching;
  present_.ForEach([&](ClusterQueueId queue) {
    const auto& selector = entry(queue).settings.namespace_selector;
    if (!selector || !selector->Matches(now)) return;
    if (before && selector->Matches(*before)) return;
    matching.push_back(queue);
  });
  return matching;
}

void QueueSet::Fill(WorkloadId workload, const WorkloadInfo& info) {
  PendingNode& filled = node(workload);
  const api::Workload& object = *info.object;
  NoteAge(workload, false);
  filled.queued_at = info.queued_at;
  NoteAge(workload, true);
  filled.run_seconds = info.expected_run_seconds;
  filled.deadline = info.deadline;
  filled.user = NamedUserOf(object);
  filled.key = OrderKey{info.priority, info.queued_at, &object.meta.uid};
  SetPlace(filled);
  filled.shape = info.shape;
  filled.generation = object.meta.generation;
  SetNamespaceOf(filled, namespaces_.NumberFor(object.meta.namespace_name));
  // A Workload whose group lacks pods waits as one that is not requeued.
  filled.requeued_false = api::IsFalse(object.status.conditions, api::kRequeued) ||
                          api::IsTrue(object.status.conditions, api::kWaitingForReplacementPods);
  SetCounter(workload,
             counts_.Join(filled.counter, local_queues_.at(filled.local_queue).key, object));
  filled.requeue_at.reset();
  if (object.status.requeue_state) filled.requeue_at = object.status.requeue_state->requeue_at;
}

std::int32_t QueueSet::NamedUserOf(const api::Workload& workload) {
  const std::string* user = api::FindValue(workload.meta.annotations, api::kUserAnnotation);
  return user == nullptr ? Names::kNone : users_.Intern(*user);
}

std::int32_t QueueSet::UserFor(const api::ObjectKey& local_queue) {
  return Names::kNone - 1 - local_queues_as_users_.Intern(local_queue.ToString());
}

void QueueSet::SetPlace(PendingNode& changed) {
  const ClusterQueueId queue = local_queues_.at(changed.local_queue).cluster_queue;
  const PlaceRules rules = queue < 0 ? PlaceRules() : entry(queue).places;
  if (rules.order == api::QueueOrder::kFairByUser && changed.user == Names::kNone) {
    changed.user = UserFor(local_queues_.at(changed.local_queue).key);
  }
  changed.key.place =
      changed.kept
          ? KeptPlaceOf(changed.queued_at)
          : queue::PlaceOf(rules, {changed.queued_at, changed.run_seconds, changed.deadline});
}

void QueueSet::SetCounter(WorkloadId workload, CounterId counter) {
  PendingNode& changed = node(workload);
  const CounterId before = changed.counter;
  if (before == counter) return;
  if (changed.cluster_queue >= 0) {
    counts_.AddQueued(before, -1);
    counts_.AddQueued(counter, 1);
    entry(changed.cluster_queue).pending.SetCounter(workload, counter);
  }
  changed.counter = counter;
  counts_.Leave(before);
}

void QueueSet::SetClusterQueueOf(WorkloadId workload, ClusterQueueId queue) {
  PendingNode& changed = node(workload);
  counts_.AddQueued(changed.counter, (queue >= 0 ? 1 : 0) - (changed.cluster_queue >= 0 ? 1 : 0));
  NoteAge(workload, false);
  if (queue != changed.cluster_queue) changed.kept = false;
  changed.cluster_queue = queue;
  NoteAge(workload, true);
}

bool QueueSet::MayRun(const PendingNode& asked, WallTime now) const {
  return !asked.requeued_false && (!asked.requeue_at || *asked.requeue_at <= now);
}

void QueueSet::Join(WorkloadId workload, std::int32_t local_queue) {
  std::vector<WorkloadId>& members = local_queues_.at(local_queue).members;
  node(workload).local_queue = local_queue;
  node(workload).member_index = static_cast<std::int32_t>(members.size());
  members.push_back(workload);
}

void QueueSet::Leave(WorkloadId workload) {
  PendingNode& left = node(workload);
  if (left.local_queue < 0) return;
  SetCounter(workload, kNoCounter);
  std::vector<WorkloadId>& members = local_queues_.at(left.local_queue).members;
  const auto slot = static_cast<std::size_t>(left.member_index);
  members[slot] = members.back();
  node(members[slot]).member_index = left.member_index;
  members.pop_back();
  DropLocalQueueNumber(std::exchange(left.local_queue, -1));
  left.member_index = -1;
}

void QueueSet::Enqueue(WorkloadId workload) {
  PendingNode& queued = node(workload);
  const LocalQueues::Entry& local_queue = local_queues_.at(queued.local_queue);
  if (queued.cluster_queue >= 0) return;  // it waits there already
  if (!local_queue.present || !entry(local_queue.cluster_queue).present) return;
  SetClusterQueueOf(workload, local_queue.cluster_queue);
  SetPlace(queued);
  entry(queued.cluster_queue).pending.Push(workload);
  NoteHead(queued.cluster_queue);
  PendingChanged(queued.cluster_queue);
}

void QueueSet::Dequeue(WorkloadId workload) {
  PendingNode& taken = node(workload);
  if (taken.cluster_queue < 0) return;
  ClusterQueueEntry& queue = entry(taken.cluster_queue);
  queue.pending.Remove(workload);
  if (queue.taken_head == workload) queue.taken_head = kNoNode;
  NoteHead(taken.cluster_queue);
  PendingChanged(taken.cluster_queue);
  SetClusterQueueOf(workload, -1);
  taken.named = false;  // its note was of this queue
}

void QueueSet::EnqueueMembers(std::int32_t local_queue) {
  for (const WorkloadId member : local_queues_.at(local_queue).members) {
    Enqueue(member);
  }
}

void QueueSet::DequeueMembers(std::int32_t local_queue) {
  for (const WorkloadId member : local_queues_.at(local_queue).members) {
    Dequeue(member);
  }
}

void QueueSet::EnqueueAll(const ClusterQueueEntry& queue) {
  for (const std::int32_t local_queue : queue.local_queues) EnqueueMembers(local_queue);
}

void QueueSet::DequeueAll(const ClusterQueueEntry& queue) {
  for (const std::int32_t local_queue : queue.local_queues) DequeueMembers(local_queue);
}

void QueueSet::PushOrPark(WorkloadId workload, WallTime now) {
  PendingNode& queued = node(workload);
  ClusterQueueEntry& queue = entry(queued.cluster_queue);
  if (!MayRun(queued, now)) {
    queue.pending.BackOff(workload);
  } else if (equivalence_hashing_ &&
             queue.settings.strategy == api::QueueingStrategy::kBestEffortFifo &&
             queue.pending.IsMarked(queued.shape)) {
    queue.pending.Park(workload);
  } else {
    queue.pending.Push(workload);
  }
  NoteHead(queued.cluster_queue);
}

void QueueSet::Upsert(WorkloadId workload, const WorkloadInfo* before, const WorkloadInfo& info,
                      WallTime now) {
  if (static_cast<std::size_t>(workload) >= nodes_.size()) {
    nodes_.resize(static_cast<std::size_t>(workload) + 1);
  }
  const api::Workload& object = *info.object;
  const std::int32_t local_queue =
      local_queues_.NumberFor({object.meta.namespace_name, object.spec.queue_name});
  PendingNode& known = node(workload);
  if (known.local_queue != local_queue) {
    Dequeue(workload);
    Leave(workload);
    Join(workload, local_queue);
  }
  const LocalQueues::Entry& through = local_queues_.at(local_queue);
  if (!through.present || !entry(through.cluster_queue).present) {
    Fill(workload, info);
    return;
  }
  if (known.cluster_queue < 0) {
    Fill(workload, info);
    SetClusterQueueOf(workload, through.cluster_queue);
    PushOrPark(workload, now);
  } else {
    Update(workload, before, info, now);
  }
  PendingChanged(known.cluster_queue);
}

void QueueSet::Update(WorkloadId workload, const WorkloadInfo* before, const WorkloadInfo& info,
                      WallTime now) {
  PendingNode& known = node(workload);
  PendingQueue& pending = entry(known.cluster_queue).pending;
  const bool active = pending.IsActive(workload);
  const bool same_place = known.key.priority == info.priority &&
                          known.queued_at == info.queued_at &&
                          known.run_seconds == info.expected_run_seconds &&
                          known.deadline == info.deadline && known.shape == info.shape;
  if (same_place && (active || (before != nullptr && !Matters(*before->object, *info.object)))) {
    Fill(workload, info);
    return;
  }
  const PendingQueue::Preemptor kept = pending.preemptor();
  pending.Remove(workload);
  pending.SetPreemptor(kept);
  if (known.shape != info.shape) known.named = false;  // its note is of the old shape
  Fill(workload, info);
  if (active) {
    pending.Push(workload);
    NoteHead(known.cluster_queue);
  } else {
    PushOrPark(workload, now);
  }
}

void QueueSet::Remove(WorkloadId workload) {
  if (static_cast<std::size_t>(workload) >= nodes_.size()) return;
  Dequeue(workload);
  Leave(workload);
  SetNamespaceOf(node(workload), -1);
  node(workload) = PendingNode{};
}

std::int64_t QueueSet::Wake(ClusterQueueId queue, WallTime now, std::vector<WorkloadId>* woken,
                            std::int64_t from) {
  ClusterQueueEntry& asked = entry(queue);
  asked.woken_in_cycle = cycle_;
  const std::int64_t count = asked.pending.Wake(
      now, from,
      [&](std::int32_t namespace_id) {
        return namespaces_.Matches(asked.settings.namespace_selector, namespace_id);
      },
      woken);
  NoteHead(queue);
  return count;
}

Destination QueueSet::PlaceOf(WorkloadId workload) const {
  if (static_cast<std::size_t>(workload) >= nodes_.size()) return Destination::kNone;
  const ClusterQueueId queue = node(workload).cluster_queue;
  if (queue < 0) return Destination::kNone;
  return entry(queue).pending.IsActive(workload) ? Destination::kActive
                                                 : Destination::kInadmissible;
}

// The heads of a QueueSet: taking heads, and requeueing decided ones.

const char* ToString(RequeueReason reason) {
  switch (reason) {
    case RequeueReason::kGeneric: return "";
    case RequeueReason::kFailedAfterNomination: return "FailedAfterNomination";
    case RequeueReason::kPendingPreemption: return "PendingPreemption";
    case RequeueReason::kPreemptionFailed: return "PreemptionFailed";
    case RequeueReason::kNoFit: return "NoFit";
    case RequeueReason::kPreemptionNoCandidates: return "PreemptionNoCandidates";
    case RequeueReason::kPreemptionGated: return "PreemptionGated";
    case RequeueReason::kNamespaceMismatch: return "NamespaceMismatch";
  }
  return "";
}

void QueueSet::NoteHead(ClusterQueueId queue) {
  const ClusterQueueEntry& noted = entry(queue);
  present_.SetHead(queue, noted.settings.active && noted.pending.active_count() > 0);
}

void QueueSet::TakeHeads(std::vector<Head>& heads, const Takes& takes) {
  ++cycle_;
  heads.clear();
  present_.ForEachHead([&](ClusterQueueId queue) {
    if (takes != nullptr && !takes(queue)) return;
    Prefetch(&entry(queue), sizeof(ClusterQueueEntry));
    heads.push_back({kNoNode, queue});
  });
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (i + kPrefetchAhead < heads.size()) {
      entry(heads[i + kPrefetchAhead].cluster_queue).pending.ExpectHead();
    }
    ClusterQueueEntry& asked = entry(heads[i].cluster_queue);
    heads[i].workload = asked.taken_head = asked.pending.Head();
    Prefetch(&node(asked.taken_head), sizeof(PendingNode));
  }
  for (const Head& head : heads) {
    node(head.workload).evaluated_generation = node(head.workload).generation;
  }
}

QueueSet::RequeueResult QueueSet::Requeue(const Head& head, RequeueReason reason, Scan scan,
                                          WallTime now) {
  RequeueResult result;
  ClusterQueueEntry& queue = entry(head.cluster_queue);
  if (queue.taken_head != head.workload) return result;
  queue.taken_head = kNoNode;
  const PendingNode& put_back = node(head.workload);
  PendingQueue& pending = queue.pending;
  const bool best_effort = queue.settings.strategy == api::QueueingStrategy::kBestEffortFifo;
  if (reason == RequeueReason::kPendingPreemption) {
    pending.SetPreemptor({head.workload, put_back.evaluated_generation, best_effort});
    PendingChanged(head.cluster_queue);
  }
  const bool may_run = MayRun(put_back, now);
  const bool woken_since = queue.woken_in_cycle >= cycle_;
  if (may_run && (IsImmediate(reason, queue.settings.strategy) || woken_since ||
                  scan == Scan::kPendingFlavors)) {
    result.to = Destination::kActive;  // where the head still is
    return result;
  }
  result.to = Destination::kInadmissible;
  if (!may_run) pending.BackOff(head.workload);
  const bool verdict_of_shape =
      reason == RequeueReason::kNoFit || reason == RequeueReason::kPreemptionNoCandidates;
  if (equivalence_hashing_ && best_effort && verdict_of_shape) {
    pending.BulkPark(head.workload, result.bulk_parked);
    std::erase(result.bulk_parked, head.workload);
  } else if (may_run) {
    pending.Park(head.workload);
  }
  NoteHead(head.cluster_queue);
  return result;
}

}  // namespace berth::queue

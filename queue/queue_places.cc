#include "queue/queue_places.h"

#include "queue/queue_set.h"

namespace berth::queue {

void QueuePlaces::SetRules(ClusterQueueId queue, const PlaceRules& rules) {
  ClusterQueueEntry& changed = set_.entry(queue);
  if (changed.places == rules) return;
  set_.DequeueAll(changed);
  const bool new_order = changed.places.order != rules.order;
  changed.places = rules;
  PendingQueue::Order by = changed.pending.order();
  by.by_user = rules.order == api::QueueOrder::kFairByUser;
  changed.pending.SetOrder(by);
  if (new_order) changed.user_shares.clear();
  if (changed.present) set_.EnqueueAll(changed);
}

std::int32_t QueuePlaces::UserOf(const api::Workload& workload) {
  const std::int32_t named = set_.NamedUserOf(workload);
  if (named != Names::kNone) return named;
  return set_.UserFor({workload.meta.namespace_name, workload.spec.queue_name});
}

void QueuePlaces::SetUserShare(ClusterQueueId queue, std::int32_t user, double share) {
  ClusterQueueEntry& changed = set_.entry(queue);
  if (share > 0) {
    changed.user_shares[user] = share;
  } else {
    changed.user_shares.erase(user);
  }
  changed.pending.Resort();
  set_.NoteHead(queue);
  set_.PendingChanged(queue);
}

void QueuePlaces::ListAges(ClusterQueueId queue, bool lists) {
  ClusterQueueEntry& changed = set_.entry(queue);
  if (changed.lists_ages == lists) return;
  changed.lists_ages = lists;
  changed.by_age.clear();
  ++set_.age_version_;
  if (!lists) return;
  for (const WorkloadId workload : changed.pending.Unsorted()) set_.NoteAge(workload, true);
}

template <typename Change>
void QueuePlaces::SortAgain(WorkloadId workload, Change change) {
  PendingNode& changed = set_.node(workload);
  if (changed.cluster_queue < 0) return change(changed);
  PendingQueue& pending = set_.entry(changed.cluster_queue).pending;
  const bool active = pending.IsActive(workload);
  const bool in_backoff = IsInBackoff(workload);
  const PendingQueue::Preemptor preemptor = pending.preemptor();
  pending.Remove(workload);
  pending.SetPreemptor(preemptor);
  change(changed);
  set_.SetPlace(changed);
  if (active) {
    pending.Push(workload);
  } else if (in_backoff) {
    pending.BackOff(workload);
  } else {
    pending.Park(workload);
  }
  set_.NoteHead(changed.cluster_queue);
  set_.PendingChanged(changed.cluster_queue);
}

void QueuePlaces::SetKept(WorkloadId workload, bool kept) {
  if (static_cast<std::size_t>(workload) >= set_.nodes_.size()) return;
  const PendingNode& known = set_.node(workload);
  if (known.kept == kept || known.cluster_queue < 0) return;
  SortAgain(workload, [kept](PendingNode& changed) { changed.kept = kept; });
}

void QueuePlaces::SetExpectedRun(WorkloadId workload, std::int64_t seconds) {
  if (set_.node(workload).run_seconds == seconds) return;
  SortAgain(workload, [seconds](PendingNode& changed) { changed.run_seconds = seconds; });
}

const QueuePlaces::Ages& QueuePlaces::ByAge(ClusterQueueId queue) const {
  return set_.entry(queue).by_age;
}

std::uint64_t QueuePlaces::version() const { return set_.age_version_; }

bool QueuePlaces::IsInBackoff(WorkloadId workload) const {
  return set_.node(workload).pending_in == PendingIn::kBackoff;
}

}  // namespace berth::queue

#include "admission/pending_order.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "api/reasons.h"
#include "base/rfc3339.h"

namespace berth::admission {
namespace {

api::PendingPage Bounded(api::PendingPage page) {
  constexpr std::int64_t kLast = INT64_MAX - api::kMostPendingWorkloads;
  return {.offset = std::clamp<std::int64_t>(page.offset, 0, kLast),
          .limit = std::clamp<std::int64_t>(page.limit, 0, api::kMostPendingWorkloads)};
}

}  // namespace

PendingSnapshot::Version PendingSnapshot::VersionOf(const Scheduler& scheduler,
                                                    ClusterQueueId queue) {
  return {scheduler.queues().waiting(queue).version(), scheduler.kept_places().computed()};
}

PendingSnapshot::PendingSnapshot(const Scheduler& scheduler, ClusterQueueId queue) {
  const std::vector<queue::WaitingWorkloads::Ranked> ranked =
      scheduler.queues().waiting(queue).AllRanked();
  waiting_.reserve(ranked.size());
  for (const queue::WaitingWorkloads::Ranked& next : ranked) {
    const std::shared_ptr<const api::Workload>& object =
        scheduler.workloads().object(next.workload);
    if (object == nullptr) continue;
    waiting_.push_back({next.rank, object, std::nullopt});
    waiting_.back().rank.key.uid = &object->meta.uid;
    const KeptPlace* place = scheduler.kept_places().Of(next.workload);
    if (place != nullptr) waiting_.back().kept = Kept{place->at, place->after};
  }
}

void PendingSnapshot::Sort() {
  std::sort(waiting_.begin(), waiting_.end(),
            [](const Waiting& a, const Waiting& b) { return queue::Before(a.rank, b.rank); });
}

api::PendingWorkload PendingSnapshot::EntryOf(const Waiting& waiting, std::int64_t in_cluster_queue,
                                              std::int64_t in_local_queue) {
  const api::Workload& workload = *waiting.object;
  api::PendingWorkload entry;
  entry.meta.namespace_name = workload.meta.namespace_name;
  entry.meta.name = workload.meta.name;
  entry.meta.creation_timestamp = workload.meta.creation_timestamp;
  entry.meta.owner_references = workload.meta.owner_references;
  const api::Condition* reserved =
      api::FindCondition(workload.status.conditions, api::kQuotaReserved);
  if (reserved != nullptr && reserved->status == api::ConditionStatus::kFalse) {
    entry.meta.annotations[api::kPendingReasonAnnotation] = reserved->reason;
    entry.meta.annotations[api::kPendingMessageAnnotation] = reserved->message;
  }
  if (waiting.kept) {
    entry.meta.annotations[api::kPlaceKeptFromAnnotation] = FormatTime(waiting.kept->from);
    entry.meta.annotations[api::kPlaceKeptAfterAnnotation] =
        std::to_string(std::chrono::floor<std::chrono::seconds>(waiting.kept->after).count()) + "s";
  }
  entry.priority = workload.spec.priority.value_or(0);
  entry.local_queue = workload.spec.queue_name;
  entry.position_in_cluster_queue = in_cluster_queue;
  entry.position_in_local_queue = in_local_queue;
  return entry;
}

std::vector<api::PendingWorkload> PendingSnapshot::Page(api::PendingPage page) const {
  const api::PendingPage asked = Bounded(page);
  std::vector<api::PendingWorkload> entries;
  std::map<std::pair<std::string_view, std::string_view>, std::int64_t> next;  // by LocalQueue
  std::int64_t position = 0;
  for (const Waiting& waiting : waiting_) {
    if (position >= asked.offset + asked.limit) break;
    const api::Workload& workload = *waiting.object;
    const std::int64_t in_local_queue =
        next[{workload.meta.namespace_name, workload.spec.queue_name}]++;
    if (position >= asked.offset) entries.push_back(EntryOf(waiting, position, in_local_queue));
    ++position;
  }
  return entries;
}

std::vector<api::PendingWorkload> PendingSnapshot::PageOf(const api::ObjectKey& local_queue,
                                                          api::PendingPage page) const {
  const api::PendingPage asked = Bounded(page);
  std::vector<api::PendingWorkload> entries;
  std::int64_t position = 0;
  std::int64_t in_local_queue = 0;
  for (const Waiting& waiting : waiting_) {
    if (in_local_queue >= asked.offset + asked.limit) break;
    const api::Workload& workload = *waiting.object;
    if (workload.meta.namespace_name == local_queue.namespace_name &&
        workload.spec.queue_name == local_queue.name) {
      if (in_local_queue >= asked.offset) {
        entries.push_back(EntryOf(waiting, position, in_local_queue));
      }
      ++in_local_queue;
    }
    ++position;
  }
  return entries;
}

}  // namespace berth::admission

#include "queue/waiting_workloads.h"

namespace berth::queue {

WaitingWorkloads::Lists WaitingWorkloads::Split() const {
  Lists lists{queue_.pending.Active(), queue_.pending.Inadmissible()};
  if (queue_.taken_head != kNoNode) std::erase(lists.active, queue_.taken_head);
  return lists;
}

std::vector<WaitingWorkloads::Ranked> WaitingWorkloads::AllRanked() const {
  std::vector<Ranked> ranked;
  for (const WorkloadId workload : queue_.pending.Unsorted()) {
    ranked.push_back({workload, queue_.pending.RankOf(workload)});
  }
  return ranked;
}

std::int64_t WaitingWorkloads::count() const {
  const std::int64_t taken = queue_.taken_head != kNoNode ? 1 : 0;
  return queue_.pending.active_count() + queue_.pending.waiting_count() - taken;
}

}  // namespace berth::queue

// The heads of a QueueSet: which queues have one, who it is, and where a decided one goes.
#include <algorithm>
#include <bit>
#include <span>

#include "base/prefetch.h"
#include "queue/queue_set.h"

namespace berth::queue {
namespace {

// Calls visit(index) for each bit that is set, in order.
template <typename Visit>
void ForEachBit(std::span<const std::uint64_t> words, Visit visit) {
  for (std::size_t word = 0; word < words.size(); ++word) {
    for (std::uint64_t bits = words[word]; bits != 0; bits &= bits - 1) {
      visit(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
    }
  }
}

bool IsImmediate(RequeueReason reason, api::QueueingStrategy strategy) {
  if (strategy == api::QueueingStrategy::kStrictFifo) {
    return reason != RequeueReason::kNamespaceMismatch;
  }
  return reason == RequeueReason::kFailedAfterNomination ||
         reason == RequeueReason::kPendingPreemption || reason == RequeueReason::kPreemptionFailed;
}

}  // namespace

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

// Ranks are made anew when somebody asks for heads, not for each of a thousand new queues.
void QueueSet::RankQueues() {
  ranks_stale_ = false;
  queues_by_rank_.clear();
  for (const auto& queue : queues_) queue->rank = -1;
  for (const auto& [name, queue] : queues_by_name_) {
    entry(queue).rank = static_cast<std::int32_t>(queues_by_rank_.size());
    queues_by_rank_.push_back(queue);
  }
  with_heads_.assign((queues_by_rank_.size() + 63) / 64, 0);
  words_with_heads_.assign((with_heads_.size() + 63) / 64, 0);
  for (const ClusterQueueId queue : queues_by_rank_) NoteHead(entry(queue));
}

void QueueSet::NoteHead(const ClusterQueueEntry& queue) {
  if (ranks_stale_ || queue.rank < 0) return;
  const auto rank = static_cast<std::size_t>(queue.rank);
  const std::uint64_t bit = std::uint64_t{1} << (rank % 64);
  if (queue.settings.active && queue.pending.active_count() > 0) {
    with_heads_[rank / 64] |= bit;
  } else {
    with_heads_[rank / 64] &= ~bit;
  }
  const std::size_t word = rank / 64;
  const std::uint64_t word_bit = std::uint64_t{1} << (word % 64);
  if (with_heads_[word] != 0) {
    words_with_heads_[word / 64] |= word_bit;
  } else {
    words_with_heads_[word / 64] &= ~word_bit;
  }
}

void QueueSet::TakeHeads(std::vector<Head>& heads) {
  ++cycle_;
  heads.clear();
  if (ranks_stale_) RankQueues();
  ForEachBit(words_with_heads_, [&](std::size_t word) {
    ForEachBit({&with_heads_[word], 1}, [&](std::size_t bit) {
      const ClusterQueueId queue = queues_by_rank_[word * 64 + bit];
      Prefetch(&entry(queue), sizeof(ClusterQueueEntry));
      heads.push_back({kNoNode, queue});
    });
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

bool QueueSet::HasHeads() const {
  if (!ranks_stale_) {
    return std::any_of(words_with_heads_.begin(), words_with_heads_.end(),
                       [](std::uint64_t bits) { return bits != 0; });
  }
  return std::any_of(queues_by_name_.begin(), queues_by_name_.end(), [this](const auto& present) {
    const ClusterQueueEntry& queue = entry(present.second);
    return queue.settings.active && queue.pending.active_count() > 0;
  });
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
  }
  const bool may_run = MayRun(put_back, now);
  const bool woken_since = queue.woken_in_cycle >= cycle_;
  if (may_run && (IsImmediate(reason, queue.settings.strategy) || woken_since ||
                  scan == Scan::kPendingFlavors)) {
    result.to = Destination::kActive;  // where it still is
    return result;
  }
  result.to = Destination::kInadmissible;
  if (!may_run) pending.Hold(head.workload);
  const bool verdict_of_shape =
      reason == RequeueReason::kNoFit || reason == RequeueReason::kPreemptionNoCandidates;
  if (equivalence_hashing_ && best_effort && verdict_of_shape) {
    pending.BulkPark(head.workload, result.bulk_parked);
    std::erase(result.bulk_parked, head.workload);
  } else if (may_run) {
    pending.Park(head.workload);
  }
  NoteHead(queue);
  return result;
}

bool QueueSet::IsPreemptor(const Head& head) const {
  const PendingQueue::Preemptor& preemptor = entry(head.cluster_queue).pending.preemptor();
  return preemptor.node == head.workload && preemptor.generation == node(head.workload).generation;
}

void QueueSet::PutFirst(const Head& head) {
  PendingQueue& pending = entry(head.cluster_queue).pending;
  if (!pending.by_usage()) return;
  pending.SetPreemptor({head.workload, node(head.workload).evaluated_generation, true, true});
}

}  // namespace berth::queue

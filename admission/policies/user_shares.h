// admission/policies/user_shares.h — the shares that submitters have of ClusterQueues whose users
// take turns (berth.dev/order: FairByUser).
//
// A submitter's share of a queue is the largest, over the flavor-resources of its workloads with
// quota there, of their usage over what the queue can use at most, borrowing included. The queue
// tries the workloads of the submitter with the smallest share first (queue/queue_places.h).
//
// Threads: one. Errors: none.
// Source: A. Ghodsi et al., Dominant Resource Fairness (NSDI 2011).
#pragma once

#include <cstdint>
#include <map>

#include "admission/cluster_state.h"
#include "queue/queue_set.h"

namespace berth::admission {

class UserShares {
 public:
  // Both must outlive the object.
  UserShares(const ClusterState& state, queue::QueueSet& queues) : state_(state), queues_(queues) {}

  // Whether the queue's users take turns.
  void Set(ClusterQueueId queue, bool take_turns);
  // The quota of the queue may have changed.
  void Recount(ClusterQueueId queue);
  // A reservation begins (sign 1) or ends (-1).
  void Count(const Reservation& reservation, int sign);

 private:
  using ByUser = std::map<std::int32_t, Usage>;  // by queue::QueuePlaces::UserOf
  static void Add(Usage& usage, const Reservation& reservation, int sign);
  double ShareOf(ClusterQueueId queue, const Usage& usage) const;

  const ClusterState& state_;
  queue::QueueSet& queues_;
  // The usage in each queue whose users take turns.
  std::map<ClusterQueueId, ByUser> used_;
};

}  // namespace berth::admission

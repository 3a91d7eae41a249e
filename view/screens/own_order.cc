#include "view/screens/own_order.h"

namespace berth::view {

bool HasOwnOrder(const api::ClusterQueue& queue, const api::QueuePolicy& policy) {
  const bool keeps_places =
      policy.reserve_after && policy.reserve_after->rule != api::ReserveAfter::Rule::kOff;
  const bool by_deadlines = policy.least_slack.value_or(Duration::zero()) > Duration::zero();
  return queue.spec.usage_based_admission_fair_sharing || keeps_places || by_deadlines ||
         policy.order.value_or(api::QueueOrder::kFifo) != api::QueueOrder::kFifo;
}

}  // namespace berth::view

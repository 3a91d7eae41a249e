// provisioning/controller/budget_waiters.h — the Workloads that wait for the budget of the day of
// their LocalQueue (spend.h).
//
// Threads: one. Errors: none.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/workload.h"
#include "provisioning/flow.h"

namespace berth::provisioning {

class BudgetWaiters {
 public:
  // Call after each decision on the Workload. `waits`: whether the Workload waits for the budget;
  // false also when the Workload is gone.
  void Follow(const api::Workload& workload, bool waits);
  // Returns the waiters of the LocalQueue, in the order of the queue.
  std::vector<api::ObjectKey> Of(const std::string& queue) const;

 private:
  std::map<std::string, std::map<FlowPlace, api::ObjectKey>> by_queue_;
};

}  // namespace berth::provisioning

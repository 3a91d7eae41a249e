// provisioning/controller/capacity_metrics.h — metrics of requests for capacity, by class.
//
//     berth_capacity_requests_open                    gauge: requests that wait for capacity
//     berth_capacity_requests_answered_total          by outcome: provisioned, or the reason of the
//                                                     failure; withdrawn: deleted while it waited
//     berth_capacity_request_wait_duration_seconds    histogram: from the creation to the answer
//     berth_capacity_revoked_total                    provisioned capacity that was taken back
//     berth_capacity_oldest_request_timestamp_seconds gauge: creation of the oldest open request;
//                                                     absent: none is open
//     berth_capacity_rest_until_timestamp_seconds     gauge: until when steps for a flavor and zone
//                                                     of the class rest; absent: never
//     berth_capacity_steps_passed_over_total          by reason: steps that a check began to pass
//                                                     over
//     berth_capacity_leased_nodes                     gauge: idle nodes that are leased
//
// Ages are left to the reader of the metrics: a time is right without being written again.
//
// Requests of every client count: the class serves all of them. Answers that came before this
// process saw the request are not counted.
//
// Threads: one Executor, that of the manager. Errors: none.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "api/provisioning_request.h"
#include "api/stock_memory.h"
#include "api/workload.h"
#include "base/clock.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/metrics.h"

namespace berth::provisioning {

class CapacityMetrics {
 public:
  // Watches the requests of `manager`; both outlive this object.
  CapacityMetrics(kube::Manager& manager, kube::Metrics& metrics, const Clock& clock);

  // The stock memory of the class was read, or has changed.
  void OnStock(const std::string& provisioning_class, const api::ClassStock& stock);
  void OnLeases(std::size_t nodes);

 private:
  using Request = api::ProvisioningRequest;

  void CountOpen(const Request* before, const Request* after);
  void OnAnswer(const Request& before, const Request& after);
  void ShowOldest(const std::string& provisioning_class);
  void CountVetoes(const api::Workload& before, const api::Workload& after);
  void Answered(const Request& request, const std::string& outcome, WallTime at);

  kube::Metrics& metrics_;
  const Clock& clock_;
  std::map<std::string, std::multiset<WallTime>> open_;  // by class: when the request was made
  std::map<std::string, std::set<std::pair<std::string, std::string>>> resting_;  // flavor, zone
};

}  // namespace berth::provisioning

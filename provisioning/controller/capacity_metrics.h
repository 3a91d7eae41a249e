// provisioning/controller/capacity_metrics.h — metrics of requests for capacity, by class.
//
//     berth_capacity_requests_open                    gauge: requests that wait for capacity
//     berth_capacity_requests_answered_total          by outcome: provisioned, or the reason of the
//                                                     failure; withdrawn: deleted while it waited
//     berth_capacity_request_wait_duration_seconds    histogram: from the creation to the answer
//     berth_capacity_revoked_total                    provisioned capacity that was taken back
//
// Requests of every client count: the class serves all of them. Answers that came before this
// process saw the request are not counted.
//
// Threads: one Executor, that of the manager. Errors: none.
#pragma once

#include <map>
#include <string>

#include "api/provisioning_request.h"
#include "base/clock.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/metrics.h"

namespace berth::provisioning {

class CapacityMetrics {
 public:
  // Watches the requests of `manager`; both outlive this object.
  CapacityMetrics(kube::Manager& manager, kube::Metrics& metrics, const Clock& clock);

 private:
  using Request = api::ProvisioningRequest;

  void CountOpen(const Request* before, const Request* after);
  void OnAnswer(const Request& before, const Request& after);
  void Answered(const Request& request, const std::string& outcome, WallTime at);

  kube::Metrics& metrics_;
  const Clock& clock_;
  std::map<std::string, std::int64_t> open_;  // by class
};

}  // namespace berth::provisioning

#include "provisioning/controller/capacity_metrics.h"

#include <algorithm>
#include <chrono>

#include "provisioning/request_state.h"

namespace berth::provisioning {
namespace {

constexpr char kOpen[] = "berth_capacity_requests_open";
constexpr char kAnswered[] = "berth_capacity_requests_answered_total";
constexpr char kWait[] = "berth_capacity_request_wait_duration_seconds";
constexpr char kRevoked[] = "berth_capacity_revoked_total";

constexpr char kClassLabel[] = "provisioning_class";
constexpr char kOutcomeLabel[] = "outcome";

// Seconds: clouds answer after a second, and after days.
std::vector<double> Buckets() {
  return {1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 14400, 43200, 86400, 259200, 604800};
}

bool Waits(const api::ProvisioningRequest& request) { return IsOpen(StateOf(request)); }

}  // namespace

CapacityMetrics::CapacityMetrics(kube::Manager& manager, kube::Metrics& metrics, const Clock& clock)
    : metrics_(metrics), clock_(clock) {
  metrics_.DeclareGauge(kOpen, "Requests that wait for capacity");
  metrics_.DeclareCounter(kAnswered, "Requests for capacity that were answered");
  metrics_.DeclareHistogram(kWait, "Time from a request's creation to its answer", Buckets());
  metrics_.DeclareCounter(kRevoked, "Requests whose capacity was taken back");
  manager.OptionalInformerFor<Request>().AddHandler(
      {.on_add = [this](const auto& request) { CountOpen(nullptr, request.get()); },
       .on_update =
           [this](const auto& before, const auto& after) {
             CountOpen(before.get(), after.get());
             OnAnswer(*before, *after);
           },
       .on_delete =
           [this](const auto& request) {
             CountOpen(request.get(), nullptr);
             if (Waits(*request)) Answered(*request, "withdrawn", clock_.Now());
           }});
}

void CapacityMetrics::CountOpen(const Request* before, const Request* after) {
  const bool waited = before != nullptr && Waits(*before);
  const bool waits = after != nullptr && Waits(*after);
  if (waited == waits) return;
  const std::string& name = (waits ? after : before)->provisioning_class_name;
  std::int64_t& count = open_[name];
  count += waits ? 1 : -1;
  metrics_.SetGauge(kOpen, {{kClassLabel, name}}, static_cast<double>(count));
}

void CapacityMetrics::OnAnswer(const Request& before, const Request& after) {
  const RequestState state = StateOf(after);
  const api::Condition* why = DecidingCondition(after);
  if (Waits(before) && !Waits(after) && why != nullptr) {
    Answered(after, state == RequestState::kFailed ? why->reason : "provisioned",
             why->last_transition_time);
  }
  if (state == RequestState::kCapacityRevoked && StateOf(before) != state) {
    metrics_.Increment(kRevoked, {{kClassLabel, after.provisioning_class_name}});
  }
}

void CapacityMetrics::Answered(const Request& request, const std::string& outcome, WallTime at) {
  const kube::MetricLabels labels{{kClassLabel, request.provisioning_class_name},
                                  {kOutcomeLabel, outcome}};
  const std::chrono::duration<double> wait = at - request.meta.creation_timestamp;
  metrics_.Increment(kAnswered, labels);
  metrics_.Observe(kWait, labels, std::max(wait.count(), 0.0));
}

}  // namespace berth::provisioning

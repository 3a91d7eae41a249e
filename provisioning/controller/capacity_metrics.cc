#include "provisioning/controller/capacity_metrics.h"

#include <algorithm>
#include <chrono>

#include "provisioning/request_state.h"
#include "provisioning/vetoes.h"

namespace berth::provisioning {
namespace {

constexpr char kOpen[] = "berth_capacity_requests_open";
constexpr char kAnswered[] = "berth_capacity_requests_answered_total";
constexpr char kWait[] = "berth_capacity_request_wait_duration_seconds";
constexpr char kRevoked[] = "berth_capacity_revoked_total";

constexpr char kOldest[] = "berth_capacity_oldest_request_timestamp_seconds";
constexpr char kRestUntil[] = "berth_capacity_rest_until_timestamp_seconds";
constexpr char kPassedOver[] = "berth_capacity_steps_passed_over_total";
constexpr char kLeased[] = "berth_capacity_leased_nodes";

constexpr char kClassLabel[] = "provisioning_class";
constexpr char kOutcomeLabel[] = "outcome";

double SecondsOf(WallTime at) {
  return std::chrono::duration<double>(at.time_since_epoch()).count();
}

// How often the check's message names the reason of a step that is passed over.
int TimesNamed(const std::string& message, const std::string& reason) {
  const std::string words = " (" + reason + "): ";
  int times = 0;
  for (auto at = message.find(words); at != std::string::npos; at = message.find(words, at + 1)) {
    ++times;
  }
  return times;
}

bool Waits(const api::ProvisioningRequest& request) { return IsOpen(StateOf(request)); }

}  // namespace

CapacityMetrics::CapacityMetrics(kube::Manager& manager, kube::Metrics& metrics, const Clock& clock)
    : metrics_(metrics), clock_(clock) {
  manager.InformerFor<api::Workload>().AddHandler(
      {.on_update = [this](const auto& before, const auto& after) {
        CountVetoes(*before, *after);
      }});
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
  std::multiset<WallTime>& open = open_[name];
  if (waits) {
    open.insert(after->meta.creation_timestamp);
  } else if (const auto one = open.find(before->meta.creation_timestamp); one != open.end()) {
    open.erase(one);
  }
  metrics_.SetGauge(kOpen, {{kClassLabel, name}}, static_cast<double>(open.size()));
  ShowOldest(name);
}

void CapacityMetrics::ShowOldest(const std::string& provisioning_class) {
  const kube::MetricLabels labels{{kClassLabel, provisioning_class}};
  const std::multiset<WallTime>& open = open_[provisioning_class];
  if (open.empty()) return metrics_.RemoveGauge(kOldest, labels);
  metrics_.SetGauge(kOldest, labels, SecondsOf(*open.begin()));
}

void CapacityMetrics::OnStock(const std::string& provisioning_class, const api::ClassStock& stock) {
  std::map<std::pair<std::string, std::string>, WallTime> rests;
  for (const api::StockEntry& entry : stock) {
    if (entry.rest_until == WallTime{}) continue;
    WallTime& until = rests[{entry.key.flavor, entry.key.zone}];
    until = std::max(until, entry.rest_until);
  }
  const auto labels = [&provisioning_class](const std::pair<std::string, std::string>& key) {
    return kube::MetricLabels{
        {kClassLabel, provisioning_class}, {"flavor", key.first}, {"zone", key.second}};
  };
  auto& known = resting_[provisioning_class];
  for (const auto& key : known) {
    if (!rests.contains(key)) metrics_.RemoveGauge(kRestUntil, labels(key));
  }
  known.clear();
  for (const auto& [key, until] : rests) {
    known.insert(key);
    metrics_.SetGauge(kRestUntil, labels(key), SecondsOf(until));
  }
}

void CapacityMetrics::OnLeases(std::size_t nodes) {
  metrics_.SetGauge(kLeased, {}, static_cast<double>(nodes));
}

// A message that stands counts once.
void CapacityMetrics::CountVetoes(const api::Workload& before, const api::Workload& after) {
  for (const api::AdmissionCheckState& now : after.status.admission_checks) {
    std::string told;
    for (const api::AdmissionCheckState& was : before.status.admission_checks) {
      if (was.name == now.name) told = was.message;
    }
    if (told == now.message) continue;
    for (const char* reason : kVetoReasons) {
      const int more = TimesNamed(now.message, reason) - TimesNamed(told, reason);
      if (more > 0) metrics_.Increment(kPassedOver, {{"reason", reason}}, more);
    }
  }
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

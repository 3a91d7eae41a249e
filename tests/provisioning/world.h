// A small world for tests of provisioning/: one Workload, its requests and templates. It performs
// Decide's actions; the test plays the cloud.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "api/labels.h"
#include "api/reasons.h"
#include "provisioning/decide.h"

namespace berth::provisioning::testing {

inline constexpr auto kTrue = api::ConditionStatus::kTrue;

// The name of the request of an attempt in a World.
inline std::string Pr(int attempt) {
  return "job-sample-job-e80e2-dws-prov-" + std::to_string(attempt);
}

class World {
 public:
  World() {
    config.meta.name = "dws-config";
    config.provisioning_class_name = "queued-provisioning.gke.io";
    config.managed_resources = {"nvidia.com/gpu"};
    workload.meta = {.namespace_name = "default", .name = "job-sample-job-e80e2", .uid = "wl-uid"};
    AddPodSet("main", 1, {{"cpu", 100}, {"nvidia.com/gpu", 1}});
    GiveQuota();
  }

  void AddPodSet(const std::string& name, std::int32_t count, api::ResourceAmounts amounts) {
    api::PodSet pods;
    pods.name = name;
    pods.count = count;
    api::Container container;
    container.name = "c";
    container.requests = std::move(amounts);
    pods.pod_template.spec.containers = {container};
    workload.spec.pod_sets.push_back(std::move(pods));
  }

  void SetCondition(const char* type, api::ConditionStatus status, const std::string& reason) {
    api::SetCondition(
        workload.status.conditions,
        {.type = type, .status = status, .reason = reason, .last_transition_time = now});
  }

  void GiveQuota(const std::string& flavor = "gpu") {
    api::Admission admission{.cluster_queue = "dws-cluster-queue"};
    for (const api::PodSet& pods : workload.spec.pod_sets) {
      admission.pod_set_assignments.push_back(
          {.name = pods.name, .flavors = {{"nvidia.com/gpu", flavor}}, .count = pods.count});
    }
    workload.status.admission = admission;
    SetCondition(api::kQuotaReserved, api::ConditionStatus::kTrue, "QuotaReserved");
    SetCondition(api::kEvicted, api::ConditionStatus::kFalse, "QuotaReserved");
    if (workload.status.admission_checks.empty()) {
      workload.status.admission_checks = {{.name = "dws-prov", .last_transition_time = now}};
    }
  }

  // Plays the queue on Retry: eviction, checks reset, quota released.
  void Evict() {
    SetCondition(api::kEvicted, api::ConditionStatus::kTrue, "AdmissionCheck");
    if (check().state == api::CheckState::kRetry) {
      check().retry_count = check().retry_count.value_or(0) + 1;
    }
    check().state = api::CheckState::kPending;
    check().message = "Reset to Pending after eviction. Previously: Retry";
    check().requeue_after_seconds.reset();
    check().pod_set_updates.clear();
    check().last_transition_time = now;
    workload.status.admission.reset();
    SetCondition(api::kQuotaReserved, api::ConditionStatus::kFalse, "AdmissionCheck");
  }

  void Admit() { SetCondition(api::kAdmitted, api::ConditionStatus::kTrue, "Admitted"); }

  Situation Observe() const {
    Situation situation;
    situation.workload = &workload;
    for (const api::AdmissionCheckState& each : workload.status.admission_checks) {
      situation.checks.push_back(
          {each.name, has_config ? &config : nullptr, last_attempt, policy ? &*policy : nullptr});
    }
    situation.memory = memory;
    situation.stock = stock ? &*stock : nullptr;
    situation.job_deadline = job_deadline;
    situation.flow = flow;
    situation.requests = requests;
    situation.templates = templates;
    situation.flavors = &flavors;
    return situation;
  }

  // Decides once and performs the first `most` writes, in the driver's order; a driver that dies
  // performs less than all. Returns whether there was anything to do.
  bool Round(std::size_t most = SIZE_MAX) {
    last = Decide(Observe(), options, now);
    if (!last.lessons.empty()) {
      EXPECT_TRUE(last.actions.empty() && last.checks.empty() && !last.memory);
      for (const StockLesson& lesson : last.lessons) stock->Record(lesson);
      return true;
    }
    if (last.memory) {
      EXPECT_TRUE(last.actions.empty() && last.checks.empty()) << "the memory is written alone";
      if (most > 0) Remember(*last.memory);
      return true;
    }
    if (last.actions.empty() && last.checks.empty()) return false;
    if (!last.checks.empty() && most > 0) {
      --most;
      for (const api::AdmissionCheckState& state : last.checks) {
        for (api::AdmissionCheckState& each : workload.status.admission_checks) {
          if (each.name == state.name) each = state;
        }
        ++check_writes;
      }
    }
    for (std::size_t at = 0; at < std::min(most, last.actions.size()); ++at) {
      Perform(last.actions[at]);
    }
    return true;
  }

  // Decides and performs until there is no action; returns the number of rounds.
  int Settle() {
    for (int round = 0; round < 10; ++round) {
      if (!Round()) return round;
    }
    ADD_FAILURE() << "does not come to rest";
    return -1;
  }

  void Pass(int seconds) { now += std::chrono::seconds(seconds); }

  void Answer(const char* type, api::ConditionStatus status, const std::string& reason,
              const std::string& message) {
    ASSERT_FALSE(requests.empty());
    AnswerTo(requests.back(), type, status, reason, message);
  }
  void AnswerTo(api::ProvisioningRequest& request, const char* type, api::ConditionStatus status,
                const std::string& reason, const std::string& message) const {
    api::SetCondition(request.conditions, {.type = type,
                                           .status = status,
                                           .reason = reason,
                                           .message = message,
                                           .last_transition_time = now});
  }
  void Provision() {
    Answer("Accepted", api::ConditionStatus::kTrue, "SuccessfullyQueued", "queued");
    Answer("Provisioned", api::ConditionStatus::kTrue, "Provisioned", "It is there.");
  }
  void Fail(const std::string& reason = "QuotaExceeded", const std::string& message = "No quota.") {
    Answer("Failed", api::ConditionStatus::kTrue, reason, message);
  }

  api::AdmissionCheckState& check() { return workload.status.admission_checks.front(); }
  std::vector<std::string> RequestNames() const {
    std::vector<std::string> names;
    for (const auto& request : requests) names.push_back(request.meta.name);
    return names;
  }

  const std::string& avoided() const {
    static const std::string kNone;
    const std::string* names =
        api::FindValue(workload.meta.annotations, api::kAvoidedFlavorsAnnotation);
    return names == nullptr ? kNone : *names;
  }

  api::Workload workload;
  std::optional<api::ProvisioningPolicy> policy;
  api::MemoryByCheck memory;
  std::optional<StockMemory> stock;
  std::optional<std::int64_t> job_deadline;
  const Flow* flow = nullptr;
  api::ProvisioningRequestConfig config;
  bool has_config = true;
  FlavorsByName flavors;
  std::vector<api::ProvisioningRequest> requests;
  std::vector<TemplateSeen> templates;
  std::vector<std::string> events;
  std::vector<std::string> log;  // the actions, in order
  WallTime now{std::chrono::seconds(1'700'000'000)};
  DecideOptions options;
  Decision last;
  std::int32_t last_attempt = 0;
  int check_writes = 0;
  int memory_writes = 0;

 private:
  template <typename List>
  static void Remove(List& list, const std::string& name) {
    list.erase(std::remove_if(list.begin(), list.end(),
                              [&name](const auto& each) { return NameOf(each) == name; }),
               list.end());
  }
  static const std::string& NameOf(const api::ProvisioningRequest& each) { return each.meta.name; }
  static const std::string& NameOf(const TemplateSeen& each) { return each.name; }

  void Remember(const MemoryWrite& write) {
    ++memory_writes;
    memory = write.memory;
    workload.meta.annotations.erase(api::kAvoidedFlavorsAnnotation);
    if (!write.avoided_flavors.empty()) {
      workload.meta.annotations[api::kAvoidedFlavorsAnnotation] = write.avoided_flavors;
    }
    workload.meta.annotations.erase(api::kExpiresAtAnnotation);
    if (!write.expires_at.empty()) {
      workload.meta.annotations[api::kExpiresAtAnnotation] = write.expires_at;
    }
    for (const CheckEvent& event : write.events) {
      events.push_back((event.warning ? "Warning " : "") + event.reason + ": " + event.message);
    }
  }
  void Perform(const Action& action) {
    if (const auto* make = std::get_if<CreateTemplate>(&action)) {
      log.push_back("template " + make->name);
      templates.push_back({make->name, make->owner ? make->owner->uid : workload.meta.uid});
    } else if (const auto* ask = std::get_if<CreateRequest>(&action)) {
      log.push_back("request " + ask->request.meta.name);
      requests.push_back(ask->request);
      requests.back().meta.uid = "uid-of-" + ask->request.meta.name;
      requests.back().meta.creation_timestamp = now;
    } else if (const auto* own = std::get_if<OwnTemplate>(&action)) {
      log.push_back("own " + own->name);
      for (TemplateSeen& each : templates) {
        if (each.name == own->name) each.controller_uid = own->owner.uid;
      }
    } else if (const auto* drop = std::get_if<DeleteRequest>(&action)) {
      log.push_back("delete " + drop->name);
      const std::string uid = "uid-of-" + drop->name;
      Remove(requests, drop->name);
      templates.erase(
          std::remove_if(templates.begin(), templates.end(),
                         [&uid](const auto& each) { return each.controller_uid == uid; }),
          templates.end());
    } else if (const auto* erase = std::get_if<DeleteTemplate>(&action)) {
      Remove(templates, erase->name);
    } else if (const auto* event = std::get_if<CheckEvent>(&action)) {
      events.push_back(event->reason + ": " + event->message);
    }
  }
};

}  // namespace berth::provisioning::testing

// A Workload with a check of reactive capacity, in memory: performs decisions until they come to
// rest. The test plays queue, scheduler and cloud.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "api/labels.h"
#include "api/reasons.h"
#include "provisioning/reactive.h"

namespace berth::provisioning {

class ReactiveWorld {
 public:
  ReactiveWorld() {
    workload.meta = {.namespace_name = "default", .name = "job-train", .uid = "wl-uid"};
    api::PodSet main{.name = "main", .count = 2};
    api::Container container;
    container.requests = {{"cpu", 1000}, {"nvidia.com/gpu", 1}};
    main.pod_template.spec.containers = {container};
    workload.spec.pod_sets = {main};
    workload.status.admission_checks = {{.name = "nodes", .last_transition_time = now}};
  }

  // low (300 s, 2 attempts) → demand.
  void UseChain() {
    api::ProvisioningStep low{.name = "low", .flavor = "low"};
    low.max_wait_seconds = 300;
    low.max_attempts = 2;
    policy = api::ProvisioningPolicy{.meta = {.name = "p"},
                                     .steps = {low, {.name = "demand", .flavor = "demand"}}};
    policy->on_revoked = api::ProvisioningPolicy::OnRevoked::kRequeue;
  }

  void SetCondition(const char* type, api::ConditionStatus status) {
    api::SetCondition(workload.status.conditions,
                      {.type = type, .status = status, .last_transition_time = now});
  }

  void GiveQuota(const std::string& flavor) {
    workload.status.admission = api::Admission{.cluster_queue = "cq"};
    workload.status.admission->pod_set_assignments = {
        {.name = "main", .flavors = {{"nvidia.com/gpu", flavor}}, .count = 2}};
    SetCondition(api::kQuotaReserved, api::ConditionStatus::kTrue);
    SetCondition(api::kEvicted, api::ConditionStatus::kFalse);
  }
  // Plays the queue and the Job: the pods start.
  void Start(const std::string& flavor = "low") {
    GiveQuota(flavor);
    Settle();
    ASSERT_EQ(check().state, api::CheckState::kReady) << check().message;
    SetCondition(api::kAdmitted, api::ConditionStatus::kTrue);
    ++starts;
    for (int i = 0; i < 2; ++i) {
      api::Pod pod;
      pod.meta = {.namespace_name = "default",
                  .name = "p" + std::to_string(starts) + "-" + std::to_string(i)};
      pod.meta.creation_timestamp = now;
      pod.phase = "Pending";
      pods.push_back(pod);
    }
  }
  // Plays the queue on Retry: after the wait the Workload is evicted, and its pods are deleted.
  void Requeue() {
    ASSERT_EQ(check().state, api::CheckState::kRetry) << check().message;
    Pass(check().requeue_after_seconds.value_or(0));
    SetCondition(api::kEvicted, api::ConditionStatus::kTrue);
    SetCondition(api::kAdmitted, api::ConditionStatus::kFalse);
    const std::int32_t retries = check().retry_count.value_or(0) + 1;
    check() = {.name = "nodes", .last_transition_time = now, .retry_count = retries};
    workload.status.admission.reset();
    SetCondition(api::kQuotaReserved, api::ConditionStatus::kFalse);
    std::erase_if(pods, [](const api::Pod& pod) { return pod.phase == "Pending"; });
    Settle();
  }

  api::Pod& PodAt(std::size_t at) { return pods[pods.size() - 2 + at]; }
  void NoRoom(std::size_t at) {
    api::SetCondition(PodAt(at).conditions, {.type = "PodScheduled",
                                             .status = api::ConditionStatus::kFalse,
                                             .reason = "Unschedulable",
                                             .message = "0/1 nodes are available",
                                             .last_transition_time = now});
  }
  void Bind(std::size_t at) {
    PodAt(at).spec.node_name = "node-" + std::to_string(at);
    PodAt(at).phase = "Running";
  }
  void TakeNodeBack(std::size_t at, const char* reason = "DeletionByTaintManager") {
    PodAt(at).phase = "Failed";
    PodAt(at).conditions = {{"DisruptionTarget", api::ConditionStatus::kTrue, reason, "", now}};
  }

  ReactiveSituation Observe() const {
    ReactiveSituation situation{.workload = &workload};
    situation.checks = {{"nodes", policy ? &*policy : nullptr, active}};
    for (const api::Pod& each : pods) situation.pods.push_back(&each);
    situation.supply.has_karpenter = has_karpenter;
    for (const auto& pool : pools) situation.supply.pools.push_back(&pool);
    for (const auto& claim : claims) situation.supply.claims.push_back(&claim);
    situation.flavors = &flavors;
    situation.memory = memory;
    situation.stock = stock ? &*stock : nullptr;
    situation.job_deadline = job_deadline;
    if (policy && policy->max_cost_per_day) situation.spend = spend;
    return situation;
  }

  void Settle() {
    for (int round = 0; round < 10; ++round) {
      last = DecideReactive(Observe(), now);
      if (!last.lessons.empty()) {
        EXPECT_TRUE(last.actions.empty() && last.checks.empty() && !last.memory);
        for (const StockLesson& lesson : last.lessons) stock->Record(lesson);
        continue;
      }
      if (!last.charges.empty()) {
        EXPECT_TRUE(last.actions.empty() && last.checks.empty() && !last.memory);
        for (const Charge& charge : last.charges) spend->Record(charge);
        if (crashes) return;
        continue;
      }
      if (last.memory) {
        EXPECT_TRUE(last.actions.empty() && last.checks.empty()) << "the memory is written alone";
        memory = last.memory->memory;
        auto& annotations = workload.meta.annotations;
        annotations.erase(api::kReactiveAvoidedFlavorsAnnotation);
        if (!last.memory->avoided_flavors.empty()) {
          annotations[api::kReactiveAvoidedFlavorsAnnotation] = last.memory->avoided_flavors;
        }
        continue;
      }
      if (last.actions.empty() && last.checks.empty()) return;
      for (const Action& action : last.actions) {
        const auto& event = std::get<CheckEvent>(action);
        events.push_back((event.warning ? "Warning " : "") + event.reason + ": " + event.message);
      }
      for (const auto& state : last.checks) check() = state, ++writes;
    }
    ADD_FAILURE() << "does not come to rest";
  }
  void Pass(int seconds) { now += std::chrono::seconds(seconds); }
  void PassAndSettle(int seconds) {
    Pass(seconds);
    Settle();
  }

  api::AdmissionCheckState& check() { return workload.status.admission_checks.front(); }
  std::string avoided() const {
    const std::string* list =
        api::FindValue(workload.meta.annotations, api::kReactiveAvoidedFlavorsAnnotation);
    return list == nullptr ? "" : *list;
  }

  api::Workload workload;
  std::vector<api::Pod> pods;
  bool has_karpenter = false;
  std::vector<api::KarpenterNodePool> pools;
  std::vector<api::KarpenterNodeClaim> claims;
  std::optional<api::ProvisioningPolicy> policy;
  bool active = true;
  api::MemoryByCheck memory;
  std::optional<StockMemory> stock;
  SpendMemory* spend = nullptr;
  bool crashes = false;  // after the next charge
  std::optional<std::int64_t> job_deadline;
  FlavorsByName flavors;
  WallTime now{std::chrono::seconds(1'700'000'000)};
  Decision last;
  std::vector<std::string> events;
  int writes = 0;
  int starts = 0;
};

}  // namespace berth::provisioning

// A small world for tests of provisioning/: one Workload, its requests and templates. It performs
// Decide's actions; the test plays the cloud.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "api/labels.h"
#include "api/reasons.h"
#include "base/rfc3339.h"
#include "provisioning/decide.h"
#include "provisioning/lease.h"
#include "provisioning/reuse.h"

namespace berth::provisioning::testing {

inline constexpr auto kTrue = api::ConditionStatus::kTrue;

// The name of the request of an attempt in a World.
inline std::string Pr(int attempt) {
  return "job-sample-job-e80e2-dws-prov-" + std::to_string(attempt);
}

// Nodes that several Worlds share. A write that names an old resourceVersion is refused.
struct Cluster {
  struct Member {
    api::Node node;
    bool busy = false;
    std::string used_by;  // the holder whose pods run on the node
  };

  api::Node& Add(const std::string& name, const std::string& set = "", std::int64_t gpus = 1) {
    Member& member = members[name];
    member.node.meta.name = name;
    member.node.meta.resource_version = std::to_string(++version);
    if (!set.empty()) member.node.meta.labels[api::kGkeRequestLabel] = set;
    member.node.allocatable = {{"cpu", 8000}, {"nvidia.com/gpu", gpus}, {"pods", 32}};
    member.node.taints = {{.key = api::kGkeQueuedTaint, .value = "true", .effect = "NoSchedule"}};
    member.node.conditions = {{.type = "Ready", .status = kTrue}};
    return member.node;
  }

  std::int64_t SizeOf(const std::string& set) const {
    if (set.empty()) return 1;
    return std::count_if(members.begin(), members.end(),
                         [&set](const auto& each) { return SetOf(each.second.node) == set; });
  }

  NodesSeen See() const {
    NodesSeen seen;
    for (const auto& [name, member] : members) {
      seen.nodes.push_back({.node = &member.node,
                            .idle = !member.busy && member.used_by.empty(),
                            .set_size = SizeOf(SetOf(member.node))});
    }
    seen.booked = booked;
    seen.waiting = waiting;
    return seen;
  }

  // Returns whether the write took effect.
  bool Write(const std::string& name, const std::string& resource_version,
             const std::function<void(api::ObjectMeta&)>& edit) {
    const auto found = members.find(name);
    if (found == members.end() || found->second.node.meta.resource_version != resource_version) {
      return false;
    }
    edit(found->second.node.meta);
    found->second.node.meta.resource_version = std::to_string(++version);
    return true;
  }

  std::map<std::string, Member> members;
  std::set<std::string> booked;
  std::vector<const api::Workload*> waiting;
  int version = 0;
};

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
    situation.past_run = past_run;
    situation.flow = flow;
    situation.requests = requests;
    situation.templates = templates;
    situation.flavors = &flavors;
    if (cluster != nullptr) situation.nodes = cluster->See();
    situation.pods = seen_pods;
    situation.spend = spend;
    return situation;
  }

  // Decides once and performs the first `most` writes, in the driver's order; a driver that dies
  // performs less than all. Returns whether there was anything to do.
  bool Round(std::size_t most = SIZE_MAX) {
    if (crash_after >= 0) most = std::min(most, static_cast<std::size_t>(crash_after));
    last = Decide(Observe(), options, now);
    if (!last.lessons.empty()) {
      EXPECT_TRUE(last.actions.empty() && last.checks.empty() && !last.memory);
      for (const StockLesson& lesson : last.lessons) stock->Record(lesson);
      return true;
    }
    if (!last.charges.empty()) {
      EXPECT_TRUE(last.actions.empty() && last.checks.empty() && !last.memory);
      for (const Charge& charge : last.charges) spend->Record(charge);
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
      if (crash_after > 0) --crash_after;
      for (const api::AdmissionCheckState& state : last.checks) {
        for (api::AdmissionCheckState& each : workload.status.admission_checks) {
          if (each.name == state.name) each = state;
        }
        ++check_writes;
      }
    }
    for (std::size_t at = 0; at < std::min(most, last.actions.size()); ++at) {
      Perform(last.actions[at]);
      if (crash_after > 0) --crash_after;
    }
    return true;
  }

  // Decides and performs until there is no action; returns the number of rounds.
  int Settle() {
    for (int round = 0; round < 10; ++round) {
      if (!Round()) return round;
      if (crash_after == 0 && last.lessons.empty() && last.charges.empty()) return round;
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
  std::optional<std::int64_t> past_run;
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
  Cluster* cluster = nullptr;  // null: nodes are not looked at
  std::optional<PodsSeen> seen_pods;
  SpendMemory* spend = nullptr;  // null: no budget of the day
  int crash_after = -1;          // the process ends after that many writes; below 0: never
  int conflicts = 0;             // leases that another decider got

 private:
  std::map<std::string, int> lives_;  // requests made, by name

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
      std::erase_if(templates,
                    [make](const TemplateSeen& each) { return each.name == make->name; });
      templates.push_back({make->name, make->owner ? make->owner->uid : workload.meta.uid});
    } else if (const auto* ask = std::get_if<CreateRequest>(&action)) {
      log.push_back("request " + ask->request.meta.name);
      requests.push_back(ask->request);
      const int life = ++lives_[ask->request.meta.name];  // a name may come again
      requests.back().meta.uid =
          "uid-of-" + ask->request.meta.name + (life == 1 ? "" : "-" + std::to_string(life));
      requests.back().meta.creation_timestamp = now;
    } else if (const auto* own = std::get_if<OwnTemplate>(&action)) {
      log.push_back("own " + own->name);
      for (TemplateSeen& each : templates) {
        if (each.name == own->name) each.controller_uid = own->owner.uid;
      }
    } else if (const auto* drop = std::get_if<DeleteRequest>(&action)) {
      log.push_back("delete " + drop->name);
      for (const Charge& charge : drop->charges) spend->Record(charge);
      std::string uid;
      for (const auto& each : requests) {
        if (each.meta.name == drop->name) uid = each.meta.uid;
      }
      Remove(requests, drop->name);
      templates.erase(
          std::remove_if(templates.begin(), templates.end(),
                         [&uid](const auto& each) { return each.controller_uid == uid; }),
          templates.end());
    } else if (const auto* erase = std::get_if<DeleteTemplate>(&action)) {
      Remove(templates, erase->name);
    } else if (const auto* take = std::get_if<TakeLease>(&action)) {
      log.push_back("lease " + take->node);
      const bool written =
          cluster->Write(take->node, take->resource_version, [&](api::ObjectMeta& meta) {
            meta.labels[api::kLeaseLabel] = take->holder;
            meta.annotations[api::kLeaseUntilAnnotation] = FormatTime(take->until);
            meta.annotations[api::kLeaseOfAnnotation] = workload.meta.key().ToString();
          });
      conflicts += written ? 0 : 1;
    } else if (const auto* release = std::get_if<ReleaseLease>(&action)) {
      log.push_back("release " + release->node);
      cluster->Write(release->node, release->resource_version, [](api::ObjectMeta& meta) {
        meta.labels.erase(api::kLeaseLabel);
        meta.annotations.erase(api::kLeaseUntilAnnotation);
        meta.annotations.erase(api::kLeaseOfAnnotation);
      });
    } else if (const auto* event = std::get_if<CheckEvent>(&action)) {
      events.push_back(event->reason + ": " + event->message);
    }
  }
};

}  // namespace berth::provisioning::testing

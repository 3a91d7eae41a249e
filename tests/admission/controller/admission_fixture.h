// tests/admission/controller/admission_fixture.h — all admission controllers on the real API in
// memory, in virtual time, with short functions for queues and workloads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "admission/controller/admission_controllers.h"
#include "api/codec/codec.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"
#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth::admission {

using kube::Json;
using namespace std::chrono_literals;

inline constexpr char kKueueRoot[] = "/apis/kueue.x-k8s.io/v1beta2/";

class AdmissionFixture : public ::testing::Test {
 protected:
  AdmissionFixture() { Boot(); }

  // A new controller process: the old one's memory is gone, the API's objects stay.
  void Boot() {
    client_ = std::make_unique<kube::ApiClient>(api_, executor_);
    manager_ = std::make_unique<kube::Manager>(*client_, executor_);
    events_ = std::make_unique<kube::EventRecorder>(
        *client_, clock_,
        kube::EventRecorder::Options{.controller = "kueue-admission",
                                     .instance = "test",
                                     .first_api = kube::EventApi::kCore});
    metrics_ = std::make_unique<kube::Metrics>();
    admission_ =
        std::make_unique<AdmissionControllers>(*manager_, clock_, *events_, *metrics_, options_);
    manager_->StartInformers();
    manager_->StartControllers();
  }
  void Crash() {
    manager_->Stop();
    admission_.reset();
    manager_.reset();
    events_.reset();
    client_.reset();
  }
  ~AdmissionFixture() override { Crash(); }

  void Put(const std::string& plural, const std::string& name, Json spec) {
    api_.Put(kKueueRoot + plural, {{"metadata", {{"name", name}}}, {"spec", std::move(spec)}});
  }
  // Plays the check's controller.
  void ActivateCheck(const std::string& name) {
    Json check = Object("admissionchecks/" + name);
    check["status"]["conditions"] = {{{"type", "Active"},
                                      {"status", "True"},
                                      {"reason", "Active"},
                                      {"message", ""},
                                      {"lastTransitionTime", "2026-01-01T00:00:00Z"}}};
    api_.Put(std::string(kKueueRoot) + "admissionchecks", check);
  }
  // Namespace "team", flavor "default", ClusterQueue "cq" with `cpu`, LocalQueue "lq".
  void PutQueues(int cpu, const Json& more = Json::object()) {
    api_.Put("/api/v1/namespaces", {{"metadata", {{"name", "team"}}}});
    Put("resourceflavors", "default", Json::object());
    PutClusterQueue("cq", cpu, more);
    PutLocalQueue("lq", "cq");
  }
  void PutClusterQueue(const std::string& name, int cpu, const Json& more = Json::object()) {
    Json spec = {
        {"namespaceSelector", Json::object()},
        {"resourceGroups",
         {{{"coveredResources", {"cpu"}},
           {"flavors",
            {{{"name", "default"}, {"resources", {{{"name", "cpu"}, {"nominalQuota", cpu}}}}}}}}}}};
    spec.update(more);
    Put("clusterqueues", name, spec);
  }
  void PutLocalQueue(const std::string& name, const std::string& cluster_queue,
                     const std::string& stop_policy = "None") {
    api_.Put(std::string(kKueueRoot) + "namespaces/team/localqueues",
             {{"metadata", {{"name", name}}},
              {"spec", {{"clusterQueue", cluster_queue}, {"stopPolicy", stop_policy}}}});
  }
  void PutWorkload(const std::string& name, int cpu, const Json& more = Json::object()) {
    Json spec = {{"queueName", "lq"},
                 {"podSets",
                  {{{"name", "main"},
                    {"count", 1},
                    {"template",
                     {{"spec",
                       {{"containers",
                         {{{"name", "c"}, {"resources", {{"requests", {{"cpu", cpu}}}}}}}}}}}}}}}};
    spec.update(more);
    api_.Put(std::string(kKueueRoot) + "namespaces/team/workloads",
             {{"metadata", {{"name", name}}}, {"spec", spec}});
  }
  static std::string PathOf(const std::string& name) {
    return std::string(kKueueRoot) + "namespaces/team/workloads/" + name;
  }
  api::Workload Get(const std::string& name) const {
    const Json* json = api_.Find(PathOf(name));
    if (json == nullptr) return {};
    return *api::Decode<api::Workload>(*json);
  }
  bool Is(const std::string& name, const char* type) const {
    return api::IsTrue(Get(name).status.conditions, type);
  }
  std::string ReasonOf(const std::string& name, const char* type) const {
    const api::Workload workload = Get(name);
    const auto* condition = api::FindCondition(workload.status.conditions, type);
    return condition == nullptr ? "" : condition->reason;
  }
  std::string MessageOf(const std::string& name, const char* type) const {
    const api::Workload workload = Get(name);
    const auto* condition = api::FindCondition(workload.status.conditions, type);
    return condition == nullptr ? "" : condition->message;
  }
  // Plays another controller that writes the status.
  void Edit(const std::string& name, const std::function<void(Json&)>& change) {
    Json object = *api_.Find(PathOf(name));
    change(object);
    const std::string path = PathOf(name);
    api_.Put(path.substr(0, path.rfind('/')), object);
  }
  void SetConditionOf(const std::string& name, const char* type, bool value,
                      const std::string& reason) {
    Edit(name, [&](Json& object) {
      api::Workload workload = *api::Decode<api::Workload>(object);
      api::SetCondition(
          workload.status.conditions,
          {.type = type,
           .status = value ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
           .reason = reason,
           .last_transition_time = CutToSeconds(clock_.Now())});
      object["status"]["conditions"] = api::Encode(workload.status.conditions);
    });
  }
  void Finish(const std::string& name) {
    SetConditionOf(name, api::kFinished, true, api::kSucceeded);
  }
  // A queue of 4 CPUs whose first five workloads have run for two seconds each; then "victim",
  // which has run for a second, and "high", which has needed its quota for a second.
  void PlayVictimThatEndsSoon() {
    PutQueues(4, {{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
    for (const char* name : {"run-1", "run-2", "run-3", "run-4", "run-5"}) {
      PutWorkload(name, 4);
      executor_.RunFor(2s);
      Finish(name);
    }
    PutWorkload("victim", 4);
    executor_.RunFor(1s);
    PutWorkload("high", 4, {{"priority", 9}});
    executor_.RunFor(1s);
  }
  // The job has stopped: writes what integrations/release.h writes.
  void Release(const std::string& name) {
    const std::string reason = ReasonOf(name, api::kEvicted);
    SetConditionOf(name, api::kRequeued, reason == "Preempted", reason);
    SetConditionOf(name, api::kQuotaReserved, false, reason);
    SetConditionOf(name, api::kAdmitted, false, api::kNoReservation);
    Edit(name, [](Json& object) { object["status"].erase("admission"); });
  }
  const Json& Object(const std::string& path) const { return *api_.Find(kKueueRoot + path); }
  std::vector<std::string> EventReasons(const std::string& about) const {
    std::vector<std::string> reasons;
    for (const auto& request : api_.requests()) {
      if (request.path.find("/events") == std::string::npos || request.method != "POST") continue;
      if (request.body["involvedObject"]["name"] == about)
        reasons.push_back(request.body["reason"]);
    }
    return reasons;
  }

  AdmissionControllersOptions options_;
  FakeClock clock_;
  SimExecutor executor_{clock_};
  kube::RegistryTransport api_{executor_, clock_};
  std::unique_ptr<kube::ApiClient> client_;
  std::unique_ptr<kube::Manager> manager_;
  std::unique_ptr<kube::EventRecorder> events_;
  std::unique_ptr<kube::Metrics> metrics_;
  std::unique_ptr<AdmissionControllers> admission_;
};

}  // namespace berth::admission

// tests/faults/history.h — histories written into a store by hand, to show that a rule
// can be broken.
//
// Threads: one.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "local/apiserver/store/store.h"
#include "tests/faults/invariants.h"

namespace berth::sim {

using local::Json;

inline constexpr char kWorkloads[] = "workloads.kueue.x-k8s.io";

// Writes objects by hand, and checks the invariants with each write.
class HistoryTest : public ::testing::Test {
 protected:
  HistoryTest() : HistoryTest({.staleness = std::chrono::seconds(2), .writes_per_minute = 20}) {}
  explicit HistoryTest(InvariantsOptions options) : invariants_(std::move(options)) {
    auto store = local::Store::Open({});
    store_ = std::move(*store);
    store_->AddListener([this](const std::vector<local::EventPtr>& events) {
      for (const auto& event : events) {
        invariants_.See(*event, actor_, now_);
      }
    });
    Put("clusterqueues.kueue.x-k8s.io", "", "cq", {{"spec", QueueSpec("4")}});
    Put("resourceflavors.kueue.x-k8s.io", "", "f", {{"spec", {{"nodeLabels", {{"pool", "f"}}}}}});
  }

  static Json QueueSpec(const std::string& cpu) {
    return {{"resourceGroups",
             Json::array(
                 {{{"flavors",
                    Json::array({{{"name", "f"},
                                  {"resources", Json::array({{{"name", "cpu"},
                                                              {"nominalQuota", cpu}}})}}})}}})}};
  }

  // Creates or replaces.
  void Put(const std::string& resource, const std::string& space, const std::string& name,
           Json object) {
    local::Write write;
    write.key = {resource, space, name};
    const local::StoredPtr now = store_->GetLatest(write.key);
    object["metadata"]["name"] = name;
    object["metadata"]["namespace"] = space;
    if (!object["metadata"].contains("uid")) object["metadata"]["uid"] = "uid-of-" + name;
    write.object = std::move(object);
    if (now != nullptr) {
      write.kind = local::Write::Kind::kUpdate;
      write.expected_revision = now->revision();
    }
    ASSERT_TRUE(store_->Commit({write}));
  }

  void PutJob(const std::string& name, bool suspend, std::int64_t active = 0) {
    Put("jobs.batch", "default", name,
        {{"metadata", {{"labels", {{"kueue.x-k8s.io/queue-name", "q"}}}}},
         {"spec",
          {{"suspend", suspend}, {"template", {{"spec", {{"nodeSelector", {{"pool", "f"}}}}}}}}},
         {"status", {{"active", active}}}});
  }

  static Json Condition(const char* type, bool is_true) {
    return {{"type", type}, {"status", is_true ? "True" : "False"}};
  }

  static Json PodSets(const std::string& cpu) {
    const Json container{{"resources", {{"requests", {{"cpu", cpu}}}}}};
    return Json::array({{{"name", "main"},
                         {"count", 1},
                         {"template", {{"spec", {{"containers", Json::array({container})}}}}}}});
  }

  static Json AdmissionOf(const std::string& cpu) {
    return {{"clusterQueue", "cq"},
            {"podSetAssignments", Json::array({{{"name", "main"},
                                                {"count", 1},
                                                {"flavors", {{"cpu", "f"}}},
                                                {"resourceUsage", {{"cpu", cpu}}}}})}};
  }

  // Writes a Workload of job `job`, with `cpu` of quota unless empty.
  void PutWorkload(const std::string& name, const std::string& job, const std::string& cpu,
                   bool admitted, const std::string& check = "") {
    Json object{{"metadata",
                 {{"ownerReferences", Json::array({{{"kind", "Job"},
                                                    {"name", job},
                                                    {"uid", "uid-of-" + job},
                                                    {"controller", true}}})}}},
                {"spec", {{"queueName", "q"}, {"podSets", PodSets(cpu.empty() ? "4" : cpu)}}}};
    Json conditions = Json::array({Condition("Admitted", admitted)});
    if (!cpu.empty()) {
      conditions.push_back(Condition("QuotaReserved", true));
      object["status"]["admission"] = AdmissionOf(cpu);
    }
    object["status"]["conditions"] = std::move(conditions);
    if (!check.empty()) {
      object["status"]["admissionChecks"] = Json::array({{{"name", "gate"}, {"state", check}}});
    }
    Put(kWorkloads, "default", name, std::move(object));
  }

  // Changes one field of the present object.
  void Change(const std::string& resource, const std::string& space, const std::string& name,
              const std::string& pointer, const Json& value) {
    Json object = *store_->GetLatest({resource, space, name})->json();
    object[Json::json_pointer(pointer)] = value;
    Put(resource, space, name, std::move(object));
  }
  void Delete(const std::string& resource, const std::string& space, const std::string& name) {
    local::Write write;
    write.key = {resource, space, name};
    write.kind = local::Write::Kind::kDelete;
    write.expected_revision = store_->GetLatest(write.key)->revision();
    ASSERT_TRUE(store_->Commit({write}));
  }

  std::string Broken() const {
    return invariants_.violation() ? invariants_.violation()->rule : "";
  }

  SteadyTime now_{};
  Invariants::Actor actor_ = Invariants::Actor::kPrograms;
  Invariants invariants_;
  std::unique_ptr<local::Store> store_;
};

}  // namespace berth::sim

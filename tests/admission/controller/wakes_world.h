// tests/admission/controller/wakes_world.h — the rows of the table of wakes (wakes_test.cc) and the
// world in which they play: the workload `w` waits, one change follows, and `w` gets quota.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/pod_groups.h"
#include "base/rfc3339.h"
#include "tests/admission/controller/admission_fixture.h"
#include "tests/admission/controller/queue_specs.h"

namespace berth::admission {

// How `w` waits.
enum class Waits : std::uint8_t {
  kParked,   // tried, and parked as inadmissible or in backoff
  kActive,   // in a queue, and tried again and again, or as soon as the queue is active
  kOutside,  // in no queue
};

class WakesWorld : public AdmissionFixture {
 public:
  using AdmissionFixture::ActivateCheck;
  using AdmissionFixture::Edit;
  using AdmissionFixture::Finish;
  using AdmissionFixture::PathOf;
  using AdmissionFixture::Put;
  using AdmissionFixture::PutClusterQueue;
  using AdmissionFixture::PutLocalQueue;
  using AdmissionFixture::PutQueues;
  using AdmissionFixture::PutWorkload;
  using AdmissionFixture::Release;
  using AdmissionFixture::SetConditionOf;

  void Run(Duration span) { executor_.RunFor(span); }
  std::string In(Duration span) const { return FormatTime(clock_.Now() + span); }
  bool HasQuota(const std::string& name) const { return Is(name, api::kQuotaReserved); }
  void Manage(const OwnerKind& kind) { admission_->ManageOwner(kind, true); }
  Waits HowItWaits(const std::string& name) const {
    const auto id = admission_->scheduler().workloads().Find({"team", name});
    if (!id) return Waits::kOutside;
    switch (admission_->scheduler().queues().PlaceOf(*id)) {
      case queue::Destination::kNone: return Waits::kOutside;
      case queue::Destination::kActive: return Waits::kActive;
      case queue::Destination::kInadmissible: return Waits::kParked;
    }
    return Waits::kOutside;
  }

  // Creates or replaces an object of the API; `json` is its text.
  void PutAt(const std::string& collection, const std::string& json) {
    api_.Put(collection, Json::parse(json));
  }
  void PutKueue(const std::string& plural, const std::string& json) {
    PutAt(kKueueRoot + plural, json);
  }
  Json Stored(const std::string& path) const { return *api_.Find(path); }
  void Remove(const std::string& path) { api_.Remove(path); }
  void RemoveKueue(const std::string& path) { api_.Remove(kKueueRoot + path); }
  void EditSpec(const std::string& name, const std::string& field, const Json& value) {
    Edit(name, [&](Json& object) { object["spec"][field] = value; });
  }
  void EditPods(const std::string& name, const std::string& field, const Json& value) {
    Edit(name,
         [&](Json& object) { object["spec"]["podSets"][0]["template"]["spec"][field] = value; });
  }
  // `value` null: removes the annotation.
  void Annotate(const std::string& name, const std::string& annotation, const char* value) {
    Edit(name, [&](Json& object) {
      Json& annotations = object["metadata"]["annotations"];
      if (value == nullptr) {
        annotations.erase(annotation);
      } else {
        annotations[annotation] = value;
      }
    });
  }
  // Pods of one CPU.
  void PutPods(const std::string& name, int count, const Json& more = Json::object()) {
    PutWorkload(name, 1, more);
    Edit(name, [count](Json& object) { object["spec"]["podSets"][0]["count"] = count; });
  }
  void Reclaim(const std::string& name, int count) {
    Edit(name, [count](Json& object) {
      object["status"]["reclaimablePods"] = {{{"name", "main"}, {"count", count}}};
    });
  }

  // Quota for 4 CPUs, which `a` has; `w` asks for `cpu`.
  void WaitForQuota(int cpu = 4, const Json& queue = Json::object(), const Json& of_a = Json(),
                    const Json& of_w = Json()) {
    PutQueues(4, queue);
    PutWorkload("a", 4, of_a.is_null() ? Json::object() : of_a);
    Run(std::chrono::seconds(3));
    PutWorkload("w", cpu, of_w.is_null() ? Json::object() : of_w);
  }
  // `w` has what all workloads need, before it is queued.
  void PutQueuesAfter(const std::function<void()>& change) {
    PutWorkload("w", 4);
    change();
    PutQueues(4);
  }
  // The queues "owner" and "borrower" of the cohort "org", each with a LocalQueue of its name; `w`
  // is in "owner".
  void PutOrg(int owner_cpu, int borrower_cpu, const Json& of_owner = Json::object(),
              const Json& of_borrower = Json::object()) {
    PutQueues(0);
    PutMember("owner", owner_cpu, of_owner);
    PutMember("borrower", borrower_cpu, of_borrower);
    for (const char* name : {"owner", "borrower"}) PutLocalQueue(name, name);
  }
  void PutMember(const std::string& name, int cpu, const Json& more = Json::object(),
                 const std::string& cohort = "org") {
    Json spec = {{"cohortName", cohort}};
    spec.update(more);
    PutClusterQueue(name, cpu, spec);
  }
  // `a` of "borrower" uses 4 CPUs that "owner" lends.
  void LendToA() {
    PutOrg(4, 0);
    PutWorkload("a", 4, {{"queueName", "borrower"}});
    Run(std::chrono::seconds(3));
    PutWorkload("w", 4, {{"queueName", "owner"}});
  }
  void PutCohort(const std::string& name, int cpu, const Json& more = Json::object()) {
    Json spec = Groups(R"([{"name": "default", "resources": [{"name": "cpu", "nominalQuota": ")" +
                       std::to_string(cpu) + R"("}]}])");
    spec.update(more);
    Put("cohorts", name, spec);
  }
  void PutCheck() { Put("admissionchecks", "c", {{"controllerName", "example.com/check"}}); }
  void PutFlavor(const std::string& name, const std::string& spec) {
    Put("resourceflavors", name, Json::parse(spec));
  }
  // A controller stops the workload's pods.
  void Own(const std::string& name, const std::string& api_version, const std::string& kind) {
    Edit(name, [&](Json& object) {
      object["metadata"]["ownerReferences"] = {{{"apiVersion", api_version},
                                                {"kind", kind},
                                                {"name", "j"},
                                                {"uid", "u"},
                                                {"controller", true}}};
    });
  }
};

struct WakeRow {
  const char* name;  // in docs/guide/queues.md
  Waits waits;
  std::function<void(WakesWorld&)> set_up;  // makes `w` wait
  std::function<void(WakesWorld&)> change;
  void (*configure)(AdmissionControllersOptions&) = nullptr;
};

std::vector<WakeRow> WakesByWorkloads();
std::vector<WakeRow> WakesByQueues();
std::vector<WakeRow> WakesByNodes();

}  // namespace berth::admission

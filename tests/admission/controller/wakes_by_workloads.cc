// The rows of wakes_test.cc in which a Workload changes: the waiting one, or another one.
#include "api/reasons.h"
#include "tests/admission/controller/wakes_world.h"

namespace berth::admission {
namespace {

const Json kFirst = {{"priority", 5}};
const Json kLast = {{"priority", 1}};

void BoostPriorities(AdmissionControllersOptions& options) {
  options.driver.scheduler.gates.priority_boost = true;
}
void BlockAdmission(AdmissionControllersOptions& options) {
  options.driver.scheduler.block_admission = true;
  options.driver.pods_ready.enabled = true;
}
void ManageJobsAlone(AdmissionControllersOptions& options) {
  options.driver.scheduler.managed_owners = std::vector{OwnerKind{"batch", "Job"}};
}

void PutClass(WakesWorld& world, int value) {
  world.PutKueue("workloadpriorityclasses",
                 R"({"metadata": {"name": "c"}, "value": )" + std::to_string(value) + "}");
}
Json OfClass(int value) {
  return {{"priority", value},
          {"priorityClassRef",
           {{"group", "kueue.x-k8s.io"}, {"kind", "WorkloadPriorityClass"}, {"name", "c"}}}};
}
void SetCheckState(WakesWorld& world, const char* state, int delay) {
  world.Edit("w", [&](Json& object) {
    object["status"]["admissionChecks"] = {{{"name", "c"},
                                            {"state", state},
                                            {"message", ""},
                                            {"lastTransitionTime", world.In(0s)},
                                            {"requeueAfterSeconds", delay}}};
  });
}
// The check "c" of the queue has said Retry, and gives `w` a delay.
void RetryAfter(WakesWorld& world, int delay) {
  world.PutCheck();
  world.ActivateCheck("c");
  world.PutWorkload("w", 4);
  SetCheckState(world, "Retry", delay);
  world.PutQueues(4, Checked());
}
void RequeueAt(WakesWorld& world, Duration delay) {
  world.PutQueuesAfter([&] {
    world.Edit("w", [&](Json& object) {
      object["status"]["requeueState"] = {{"count", 1}, {"requeueAt", world.In(delay)}};
    });
  });
}
// `a` has pods in place of its four, in the spec or in the status.
void ScaleSpec(WakesWorld& world, int count) {
  world.Edit("a", [count](Json& object) { object["spec"]["podSets"][0]["count"] = count; });
}
void ScaleAdmission(WakesWorld& world, int count) {
  world.Edit("a", [count](Json& object) {
    Json& assigned = object["status"]["admission"]["podSetAssignments"][0];
    assigned["count"] = count;
    assigned["resourceUsage"]["cpu"] = std::to_string(count);
  });
}
// `a` has quota, and `w` fits into the rest.
void WaitBesidePodsOfA(WakesWorld& world) {
  world.PutQueues(4);
  world.PutPods("a", 4);
  world.Run(3s);
  world.PutWorkload("w", 2);
}

// `a`, of lower priority, is of a kind that Berth does not manage.
void WaitForSail(WakesWorld& world) {
  world.PutQueues(4, Preempting());
  world.PutWorkload("a", 4);
  world.Own("a", "example.com/v1", "Sail");
  world.Run(3s);
  world.PutWorkload("w", 4, kFirst);
}

std::vector<WakeRow> ItsOwn() {
  using enum Waits;
  using W = WakesWorld&;
  return {
      {"priority", kParked, [](W w) { w.WaitForQuota(4, Preempting(), kFirst, kLast); },
       [](W w) { w.EditSpec("w", "priority", 9); }},
      {"priority-class-value", kParked,
       [](W w) {
         PutClass(w, 1);
         w.WaitForQuota(4, Preempting(), kFirst, OfClass(1));
       },
       [](W w) { PutClass(w, 9); }},
      {"priority-boost", kParked, [](W w) { w.WaitForQuota(4, Preempting(), kFirst, kLast); },
       [](W w) { w.Annotate("w", api::kPriorityBoostAnnotation, "9"); }, BoostPriorities},
      {"pod-sets", kParked,
       [](W w) {
         w.PutQueues(4);
         w.PutPods("w", 8);
       },
       [](W w) { w.Edit("w", [](Json& object) { object["spec"]["podSets"][0]["count"] = 4; }); }},
      {"reclaimable-pods-of-its-own", kParked,
       [](W w) {
         w.PutQueues(4);
         w.PutPods("w", 8);
       },
       [](W w) { w.Reclaim("w", 4); }},
      {"queue-name", kParked,
       [](W w) {
         w.WaitForQuota();
         w.PutClusterQueue("other", 4);
         w.PutLocalQueue("other", "other");
       },
       [](W w) { w.EditSpec("w", "queueName", "other"); }},
      {"active", kOutside,
       [](W w) {
         w.PutQueues(4);
         w.PutWorkload("w", 4, {{"active", false}});
       },
       [](W w) { w.EditSpec("w", "active", true); }},
      {"admission-gate", kOutside,
       [](W w) {
         w.PutQueuesAfter(
             [&] { w.Annotate("w", api::kAdmissionGatedByAnnotation, "example.com/g"); });
       },
       [](W w) { w.Annotate("w", api::kAdmissionGatedByAnnotation, nullptr); }},
      {"on-hold", kOutside,
       [](W w) {
         w.PutQueuesAfter([&] { w.SetConditionOf("w", api::kQuotaReserved, false, api::kOnHold); });
       },
       [](W w) { w.SetConditionOf("w", api::kQuotaReserved, false, "Pending"); }},
  };
}

std::vector<WakeRow> ItsState() {
  using enum Waits;
  using W = WakesWorld&;
  return {
      {"avoided-flavors", kParked,
       [](W w) {
         w.PutQueuesAfter([&] { w.Annotate("w", api::kAvoidedFlavorsAnnotation, "default"); });
       },
       [](W w) { w.Annotate("w", api::kAvoidedFlavorsAnnotation, nullptr); }},
      {"requeued", kParked,
       [](W w) {
         w.PutQueuesAfter([&] { w.SetConditionOf("w", api::kRequeued, false, "Preempted"); });
       },
       [](W w) { w.SetConditionOf("w", api::kRequeued, true, "Preempted"); }},
      {"waiting-for-replacement-pods", kParked,
       [](W w) {
         w.PutQueuesAfter(
             [&] { w.SetConditionOf("w", api::kWaitingForReplacementPods, true, "Lost"); });
       },
       [](W w) { w.SetConditionOf("w", api::kWaitingForReplacementPods, false, "Replaced"); }},
      {"requeue-at-passes", kParked, [](W w) { RequeueAt(w, 20s); }, [](W w) { w.Run(10s); }},
      {"requeue-at-is-removed", kParked, [](W w) { RequeueAt(w, 1h); },
       [](W w) { w.Edit("w", [](Json& object) { object["status"].erase("requeueState"); }); }},
      {"retry-delay-passes", kParked, [](W w) { RetryAfter(w, 20); }, [](W w) { w.Run(10s); }},
      {"check-leaves-retry", kParked, [](W w) { RetryAfter(w, 3600); },
       [](W w) { SetCheckState(w, "Pending", 0); }},
      {"check-is-dropped", kParked, [](W w) { RetryAfter(w, 3600); },
       [](W w) { w.PutClusterQueue("cq", 4); }},
  };
}

// Another workload leaves quota.
std::vector<WakeRow> QuotaOfOthers() {
  using enum Waits;
  using W = WakesWorld&;
  return {
      {"other-finishes", kParked, [](W w) { w.WaitForQuota(); }, [](W w) { w.Finish("a"); }},
      {"other-is-deleted", kParked, [](W w) { w.WaitForQuota(); },
       [](W w) { w.Remove(WakesWorld::PathOf("a")); }},
      {"other-is-deactivated", kParked, [](W w) { w.WaitForQuota(); },
       [](W w) { w.EditSpec("a", "active", false); }},
      {"evicted-other-stops", kParked,
       [](W w) {
         w.WaitForQuota();
         w.Own("a", "batch/v1", "Job");
         w.EditSpec("a", "active", false);
       },
       [](W w) { w.Release("a"); }},
      {"borrower-finishes", kParked, [](W w) { w.LendToA(); }, [](W w) { w.Finish("a"); }},
      {"other-without-local-queue", kParked,
       [](W w) {
         w.PutQueues(4);
         w.PutLocalQueue("other", "cq");
         w.PutWorkload("a", 4, {{"queueName", "other"}});
         w.Run(3s);
         w.PutWorkload("w", 4);
         w.RemoveKueue("namespaces/team/localqueues/other");
       },
       [](W w) { w.Finish("a"); }},
      {"reclaimable-pods-of-other", kParked, WaitBesidePodsOfA, [](W w) { w.Reclaim("a", 2); }},
      {"other-needs-fewer-pods", kParked, WaitBesidePodsOfA, [](W w) { ScaleSpec(w, 2); }},
      {"usage-of-other", kParked, WaitBesidePodsOfA, [](W w) { ScaleAdmission(w, 2); }},
      {"head-of-strict-queue", kActive,
       [](W w) {
         w.PutQueues(4, {{"queueingStrategy", "StrictFIFO"}});
         w.PutWorkload("a", 9);
         w.Run(3s);
         w.PutWorkload("w", 4);
       },
       [](W w) { w.Remove(WakesWorld::PathOf("a")); }},
      {"preemptor-leaves", kActive,
       [](W w) {  // `b` keeps what the first of its two victims has freed
         w.PutQueues(4, Preempting());
         for (const char* victim : {"a", "v"}) w.PutWorkload(victim, 2);
         w.Run(3s);
         w.PutWorkload("b", 4, kFirst);
         w.Run(3s);
         w.Finish("v");
         w.PutWorkload("w", 2);
       },
       [](W w) { w.Remove(WakesWorld::PathOf("b")); }},
  };
}

// Another workload keeps its quota, and may be preempted or blocks nobody any more.
std::vector<WakeRow> StandingOfOthers() {
  using enum Waits;
  using W = WakesWorld&;
  return {
      {"priority-class-of-other", kParked,
       [](W w) {
         PutClass(w, 5);
         w.WaitForQuota(4, Preempting(), OfClass(5), {{"priority", 3}});
       },
       [](W w) { PutClass(w, 1); }},
      {"owner-of-other", kParked, WaitForSail, [](W w) { w.Own("a", "batch/v1", "Job"); },
       ManageJobsAlone},
      {"priority-boost-of-other", kParked,
       [](W w) {
         w.PutQueues(4, Preempting());
         w.PutWorkload("a", 4);
         w.Annotate("a", api::kPriorityBoostAnnotation, "9");
         w.Run(3s);
         w.PutWorkload("w", 4, kFirst);
       },
       [](W w) { w.Annotate("a", api::kPriorityBoostAnnotation, nullptr); }, BoostPriorities},
      {"kind-is-managed", kParked, WaitForSail,
       [](W w) {
         w.Manage({"example.com", "Sail"});
       },
       ManageJobsAlone},
      {"pods-ready", kActive,
       [](W w) {
         w.WaitForQuota();
         w.PutClusterQueue("cq", 8);
       },
       [](W w) { w.SetConditionOf("a", api::kPodsReady, true, "Started"); }, BlockAdmission},
      {"unready-other-finishes", kActive,
       [](W w) {
         w.WaitForQuota();
         w.PutClusterQueue("other", 8);
         w.PutLocalQueue("other", "other");
         w.EditSpec("w", "queueName", "other");
       },
       [](W w) { w.Finish("a"); }, BlockAdmission},
  };
}

}  // namespace

std::vector<WakeRow> WakesByWorkloads() {
  std::vector<WakeRow> rows = ItsOwn();
  for (const auto& more : {ItsState(), QuotaOfOthers(), StandingOfOthers()}) {
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

}  // namespace berth::admission

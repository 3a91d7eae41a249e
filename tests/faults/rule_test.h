// tests/faults/rule_test.h — histories of waiting and reserving Workloads in one queue.
//
// Threads: one.
#pragma once

#include <string>

#include "tests/faults/history.h"
#include "tests/faults/standing.h"

namespace berth::sim {

inline constexpr char kQueues[] = "clusterqueues.kueue.x-k8s.io";

class RuleTest : public HistoryTest {
 protected:
  RuleTest() : standing_(invariants_, {.patience = std::chrono::seconds(10)}) {
    Put("localqueues.kueue.x-k8s.io", "default", "q", {{"spec", {{"clusterQueue", "cq"}}}});
    Change(kQueues, "", "cq", "/status", {{"conditions", {Condition("Active", true)}}});
  }

  void PutPod(const std::string& name, const std::string& job) {
    Put("pods", "default", name,
        {{"metadata",
          {{"ownerReferences", Json::array({{{"kind", "Job"},
                                             {"name", job},
                                             {"uid", "uid-of-" + job},
                                             {"controller", true}}})}}},
         {"status", {{"phase", "Running"}}}});
  }
  // A workload that requests `cpu`, of the priority, created at the minute.
  void PutWaiting(const std::string& name, const std::string& cpu, int priority, int minute) {
    PutWorkload(name, "job-" + name, "", false);
    Change(kWorkloads, "default", name, "/spec/podSets", PodSets(cpu));
    Change(kWorkloads, "default", name, "/spec/priority", priority);
    Change(kWorkloads, "default", name, "/metadata/creationTimestamp",
           "2026-01-01T00:0" + std::to_string(minute) + ":00Z");
  }
  void GiveQuota(const std::string& name, const std::string& cpu) {
    Change(kWorkloads, "default", name, "/status",
           {{"conditions", {Condition("QuotaReserved", true)}}, {"admission", AdmissionOf(cpu)}});
  }
  // Order is judged when the writes of other decisions have had their time.
  void GiveQuotaAndSettle(const std::string& name, const std::string& cpu) {
    GiveQuota(name, cpu);
    now_ += std::chrono::milliseconds(200);
    PutWorkload("later", "job-later", "", false);
  }
  // Lets a violation last longer than the patience of the rules.
  void LookForLong(const admission::Scheduler* core = nullptr) {
    standing_.Look(std::chrono::seconds(1), core);
    EXPECT_EQ(Broken(), "");
    standing_.Look(std::chrono::seconds(11), core);
  }

  Standing standing_;
};

}  // namespace berth::sim

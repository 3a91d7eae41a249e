// admission/controller/shadow/shadow.h — decides beside the program that runs the cluster (the
// incumbent: Kueue, or another Berth), writes nothing, and compares.
//
//     informers ─▶ Scheduler ─RunCycle─▶ decisions ─ open for a window ─┐
//                     ▲                                                 ├─▶ ShadowReport
//                     └── admissions and evictions of the incumbent ────┘
//
// Each decision is assumed, as in the SchedulerLoop, until the incumbent does the same or the
// window is over. Whatever the incumbent does becomes the state of the next cycle. An admission or
// preemption for which Berth has no decision yet waits `settle` for one, since the watches of
// different kinds are not ordered among each other.
//
// A workload that the incumbent left waiting is put aside for the window, and for longer each time,
// so that it does not take the quota of workloads that the incumbent does admit.
//
// Compared: reservations of quota (ClusterQueue, flavors, counts) and preemptions (victims, and for
// whom). Facts that are followed without a comparison: all other evictions, checks, second passes
// for nodes.
//
// At most `max_open_decisions` of Berth's decisions are open. While so many are open, no cycle
// runs, and a decision of the incumbent that meets none of them is not judged.
//
// Threads: the manager's Executor; report() may be read on any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "admission/controller/feeds/pod_defaults_feed.h"
#include "admission/controller/feeds/topology_feed.h"
#include "admission/controller/loop/cycle_pace.h"
#include "admission/controller/notes/pending_note.h"
#include "admission/controller/shadow/shadow_report.h"
#include "admission/driver.h"
#include "base/clock.h"
#include "kube/client/informer.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/metrics.h"

namespace berth::admission {

struct ShadowOptions {
  DriverOptions driver;
  Duration window = std::chrono::seconds(10);  // how long the incumbent may take to do the same
  Duration settle = std::chrono::seconds(2);
  std::size_t max_open_decisions = 4096;
  Duration summary_interval = std::chrono::minutes(1);
};

class Shadow {
 public:
  // Create before the informers start. All arguments must outlive this object. Destroy it under the
  // same conditions as AdmissionControllers.
  Shadow(kube::Manager& manager, const Clock& clock, kube::Metrics& metrics,
         const ShadowOptions& options);
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  const ShadowReport& report() const { return report_; }
  const Scheduler& scheduler() const { return scheduler_; }
  // The incumbent begins or ends to manage jobs of the kind; see Scheduler::ManageOwner.
  void ManageOwner(const OwnerKind& kind, bool managed) { scheduler_.ManageOwner(kind, managed); }
  // Logs the counts of the report, and with `kWithDifferences` the latest differences.
  enum class Detail { kCounts, kWithDifferences };
  void LogSummary(Detail detail) const;

 private:
  using WorkloadPtr = std::shared_ptr<const api::Workload>;
  enum class Fact { kNone, kReserved, kPreempted };
  using Progress = CyclePace::Progress;

  struct OpenAdmission {
    std::uint64_t ticket = 0;
    std::string uid;
    std::string rule;
    ShadowSide berth;
  };
  enum class VictimState : std::uint8_t { kRuns, kPreempted, kEnded };
  struct OpenPreemption {
    std::uint64_t ticket = 0;
    std::string uid;
    std::string rule;
    ShadowSide berth;
    std::map<api::ObjectKey, VictimState> victims;
    std::vector<std::string> others;  // preempted by the incumbent for the same preemptor
    // The other workload for which the incumbent preempted a victim; empty: there is none.
    std::string for_another;
  };
  struct HeldFact {
    std::uint64_t ticket = 0;
    Fact fact = Fact::kNone;
    WorkloadPtr object;
    bool judged = true;  // false: too many decisions were open
  };
  // A workload that the incumbent left waiting.
  struct LeftWaiting {
    std::uint64_t report = 0;  // number of the comparison
    std::uint64_t ticket = 0;  // names the end of the time aside
    std::int64_t generation = 0;
    int times = 0;
    bool aside = false;
  };

  static constexpr char kShadowByUid[] = "uid";  // index of Workloads

  static Fact FactOf(const api::Workload& before, const api::Workload& after);
  void Start();
  void Stop();

  // Following the incumbent.
  void OnUpdate(const WorkloadPtr& before, const WorkloadPtr& after);
  void OnDelete(const api::Workload& object);
  void OnFact(Fact fact, const WorkloadPtr& object);
  bool Compare(Fact fact, const WorkloadPtr& object);
  bool CompareReserved(const WorkloadPtr& object);
  bool ComparePreempted(const WorkloadPtr& object);
  void NotePreemptedFor(const api::ObjectKey& preemptor, const WorkloadPtr& victim);
  void Hold(Fact fact, const WorkloadPtr& object);
  void OnSettled(const api::ObjectKey& key, std::uint64_t ticket);
  void OnEnded(const WorkloadPtr& object);
  void Adopt(const WorkloadPtr& object);
  void CloseIfComplete(const api::ObjectKey& preemptor);
  // Returns the number of the comparison.
  std::uint64_t Close(const api::ObjectKey& preemptor, ShadowResult result, ShadowSide incumbent);
  void RestoreVictims(const OpenPreemption& open);
  ShadowSide SideOf(const api::Workload& object) const;     // the incumbent's decision
  ShadowSide WaitingSide(const api::ObjectKey& key) const;  // Berth's decision
  api::ObjectKey PreemptorOf(const api::Workload& victim) const;

  // Decisions of Berth.
  CyclePace::Work PacedWork();
  std::int64_t PriorityOf(const api::Workload& workload) const;
  void Changed() { pace_.OnChange(); }
  bool IsFull() const;
  void RunCyclesNow();
  Progress Cycle();
  Progress OpenComparisons(const Decision& decision);
  void Note(const Decision& decision);
  void Open(const Decision& decision);
  Progress OpenPreemptions(const Decision& decision, const Driver::Writes& writes);
  void OnAdmissionExpired(const api::ObjectKey& key, std::uint64_t ticket);
  void OnPreemptionExpired(const api::ObjectKey& key, std::uint64_t ticket);
  void PutAside(const api::ObjectKey& key, std::uint64_t report, std::int64_t generation);
  void ComeBack(const api::ObjectKey& key, std::uint64_t ticket);
  void ShowOpen();
  void SummariseLater();
  // Runs `act` with the key and the ticket after `delay`, unless this object is gone.
  void After(Duration delay, const api::ObjectKey& key, std::uint64_t ticket,
             void (Shadow::*act)(const api::ObjectKey&, std::uint64_t));

  Driver driver_;
  Scheduler& scheduler_;  // the driver's scheduler
  kube::Manager& manager_;
  const Clock& clock_;
  const ShadowOptions options_;
  kube::Informer<api::Workload>& workloads_;
  ShadowReport report_;
  TopologyFeed topology_feed_;
  PodDefaultsFeed pod_defaults_feed_;

  CyclePace pace_;
  std::uint64_t next_ticket_ = 1;
  std::map<api::ObjectKey, OpenAdmission> admissions_;
  std::map<api::ObjectKey, OpenPreemption> preemptions_;   // by preemptor
  std::map<api::ObjectKey, api::ObjectKey> preemptor_of_;  // by victim of an open preemption
  std::map<api::ObjectKey, HeldFact> held_;
  std::map<api::ObjectKey, LeftWaiting> left_waiting_;
  // The last reason for which Berth left a workload waiting; entries of present workloads alone.
  std::map<api::ObjectKey, std::shared_ptr<const PendingNote>> notes_;
  std::shared_ptr<Shadow*> self_ = std::make_shared<Shadow*>(this);
};

}  // namespace berth::admission

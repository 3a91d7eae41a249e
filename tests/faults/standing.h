// tests/faults/standing.h — states that may exist for a moment, but must not persist
// without faults; and states that must hold in the end.
//
//     every few seconds: standing.Look(…);  at rest: AtRest(…)
//
// Rules of Look, each about one object; the controllers have `patience` of time without faults to
// repair a violation:
//   runs-unadmitted   a job runs although its workload is not admitted
//   template-changed  a suspended job differs from its original template, and from what users made
//                     of it before its admission
//   not-finished      a job is finished, its workload is not
//   leaked            a request or template of a workload that needs none
//   waits-for-nothing a workload waits although its quota is free
//   wrong-count       the status of a queue differs from its workloads
//   core-differs      the core holds other reservations than the API's objects say
// At rest, of the ranks of writes: facts and commentary have been written in the end:
//   unexplained       a workload waits without a reason, or one that does not fit has
//                     no explanation
//
// Threads: one.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "admission/scheduler.h"
#include "tests/faults/invariants.h"

namespace berth::sim {

struct StandingOptions {
  Duration patience{};
  bool blocks_admission = false;  // waitForPodsReady.blockAdmission
};

class Standing {
 public:
  Standing(Invariants& invariants, StandingOptions options)
      : invariants_(invariants), options_(options) {}

  // Records the job's template without a start: as created, and as users edited it since.
  void OnJobMade(const JobFacts& job);
  void OnJobEdited(const JobFacts& before, const JobFacts& now);
  // The controllers may not have heard of an edit that is younger than `staleness` when the job's
  // Workload is admitted: it is undefined whether such an edit outlasts the next stop.
  void OnWorkload(const WorkloadFacts& workload);
  // `healthy`: the time without faults since the last Look. `core` may be null.
  void Look(Duration healthy, const admission::Scheduler* core);
  // Looks only if nothing has been written since the last Look.
  void LookAgain(Duration healthy);
  // Looks at rest: no violation may exist.
  void LookAtRest(const admission::Scheduler& core);
  // Whether `workload` could get quota if no other workload had any.
  bool CouldEverRun(const WorkloadFacts& workload) const;

 private:
  using Usage = std::map<std::string, FlavorAmounts>;

  void LookAtEverything(const admission::Scheduler* core);
  void Wrong(const std::string& rule, const std::string& about, const std::string& text);
  void LookAtJobs();
  void LookAtLeaks();
  void LookAtWaiting();
  void LookAtCounts();
  void LookAtReasons();
  void LookAtCore(const admission::Scheduler& core);
  void Blame(Duration healthy);
  bool FitsInto(const std::string& flavor, const QueueFacts& queue, const WorkloadFacts& workload,
                const Usage& usage) const;
  bool FitsOnNodes(const std::string& flavor, const WorkloadFacts& workload,
                   const Usage& usage) const;
  bool IsWaiting(const WorkloadFacts& workload) const;
  bool Fits(const WorkloadFacts& workload, const Usage& usage) const;
  const Truth& truth() const { return invariants_.truth(); }

  Invariants& invariants_;
  const StandingOptions options_;
  std::map<std::string, local::Json> originals_;  // job's UID → shape
  // Edits of templates before admission: job's UID → field → when.
  std::map<std::string, std::map<std::string, SteadyTime>> edits_;
  struct Trouble {
    Duration lasted{};
    std::string text;
  };
  std::map<std::pair<std::string, std::string>, Trouble> troubles_;  // (rule, object)
  std::map<std::pair<std::string, std::string>, std::string> seen_;
};

// The jobs that were let run and have pods that wait for nodes.
std::vector<Key> JobsWithoutNodes(const Truth& truth);

}  // namespace berth::sim

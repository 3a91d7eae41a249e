// tests/simulation/faults/pod_play.h — the owners of queued pods in a story, and the invariants of
// these pods.
//
//     pods with the label test.berth.dev/set ──▶ facts, rules ──▶ Invariants::Report
//                                            └─▶ a set replaces pods that failed or are deleted, as
//                                                a ReplicaSet does, until its Workload has finished
//
// Rules:
//   pod-without-admission  a pod is ungated although its Workload is not admitted
//   pod-in-wrong-place     … or without the node labels of its assigned flavors
//   too-many-group-pods    more pods of a role are ungated than its pod set was granted
//   group-released         quota of a group is given back while its pods run
// and of states that may exist for a moment:
//   pod-runs-unadmitted    an ungated pod whose Workload is not admitted
//   pod-held               the finalizer of an ended pod whose Workload is over or gone
//   group-not-finished     all pods of a group have succeeded, its Workload has not finished
//
// Threads: one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/faults/invariants.h"
#include "tests/simulation/sim_world.h"

namespace berth::sim {

inline constexpr char kSetLabel[] = "test.berth.dev/set";
inline constexpr char kSetSizeAnnotation[] = "test.berth.dev/pods";  // absent: one

class PodPlay {
 public:
  PodPlay(SimWorld& world, Invariants& invariants, Duration patience)
      : world_(world), invariants_(invariants), patience_(patience) {}

  // Registers the reviews of the story's pods.
  void Begin();
  void See(const local::StoreEvent& event, bool by_story);
  void Look(Duration healthy);
  // Whether no further progress of any pod is expected; `could_run`: of a Workload.
  bool IsOver(const std::function<bool(const WorkloadFacts&)>& could_run) const;
  // At rest: no state may persist, nothing may be under way.
  void CheckRest(const std::function<bool(const WorkloadFacts&)>& could_run);
  // Adds lines that delete the pods of the Workload, which are not replaced.
  void Drop(const WorkloadFacts& workload, std::vector<std::string>& lines);
  // Lines that delete all pods; nothing is replaced from now on.
  std::vector<std::string> End();
  void ExpectNothingLeft();
  // Whether the event says why a group lacks pods: a new process says it once more.
  static bool TellsAgain(const local::StoreEvent& event);
  bool Has(const Key& pod) const { return pods_.contains(pod); }
  bool Owns(const WorkloadFacts& workload) const;

 private:
  struct Pod {
    Key key;
    std::string uid;
    std::string set;
    std::string group;  // name of its Workload; empty: its own
    std::string role;
    std::int64_t total = 1;     // pods of the group
    std::int64_t set_size = 1;  // pods of its set
    bool gated = false;
    bool failed = false;
    bool succeeded = false;
    bool running = false;
    bool deleting = false;
    bool held = false;
    bool unretriable = false;
    std::map<std::string, std::string> node_selector;
    bool over() const { return failed || succeeded; }
  };
  struct Set {
    Key key;  // namespace, name
    local::Json original;
    std::int64_t total = 1;
    bool unretriable = false;
    int made = 0;
    bool repairing = false;
  };

  static Pod Read(const Key& key, const local::Json& object);
  const WorkloadFacts* WorkloadOf(const Pod& pod) const;
  void SeePod(const Pod* before, const Pod& now);
  void SeeWorkload(const Key& key);
  void Remember(const Pod& pod, const local::Json& object);
  void RepairLater(const Key& set);
  void Repair(const Key& set);
  bool IsSettled(const Set& set, const std::function<bool(const WorkloadFacts&)>& could_run) const;
  void Standing(std::map<std::pair<std::string, std::string>, std::string>& seen) const;

  SimWorld& world_;
  Invariants& invariants_;
  const Duration patience_;
  std::map<Key, Pod> pods_;
  std::map<Key, Set> sets_;
  std::map<Key, bool> reserved_;            // Workload → it held quota
  std::map<std::string, SteadyTime> gone_;  // Workload "ns/name" → when
  std::map<std::pair<std::string, std::string>, Duration> troubles_;
  bool ended_ = false;
};

}  // namespace berth::sim

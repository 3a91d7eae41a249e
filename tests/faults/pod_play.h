// tests/faults/pod_play.h — the owners of queued pods in a story, and the invariants of
// these pods.
//
//     pods with the label test.berth.dev/set ──▶ facts, rules ──▶ Invariants::Report
//                                            └─▶ a set replaces pods that failed, are deleted or
//                                            were
//                                                refused, as a ReplicaSet does, until its Workload
//                                                has finished; the owner of an unretriable group
//                                                deletes its Workload where a deleted pod can never
//                                                end
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
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/faults/player.h"

namespace berth::sim {

inline constexpr char kPodFramework[] = "pod";
inline constexpr char kSetLabel[] = "test.berth.dev/set";
inline constexpr char kSetSizeAnnotation[] = "test.berth.dev/pods";  // absent: one

class PodPlay final : public Player {
 public:
  PodPlay(SimWorld& world, Invariants& invariants) : world_(world), invariants_(invariants) {}

  void Begin() override;
  void See(const local::StoreEvent& event, bool by_story) override;
  void Find(Findings& findings) const override;
  bool IsOver(const CouldRun& could_run) const override;
  void CheckRest(const CouldRun& could_run) override;
  bool Owns(const WorkloadFacts& workload) const override;
  bool Keeps(const Key& pod) const override { return pods_.contains(pod); }
  // The pods of a dropped Workload are not replaced.
  void Drop(const WorkloadFacts& workload, std::vector<std::string>& lines) override;
  std::vector<std::string> End() override;
  void ExpectNothingLeft() override;
  // Whether the event says why a group lacks pods: a new process says it once more.
  static bool TellsAgain(const local::StoreEvent& event);

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
    bool placed = false;  // has a node
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
  void GiveUpLater(const Key& set);
  bool IsLostForGood(const Pod& pod) const;
  bool IsSettled(const Set& set, const CouldRun& could_run) const;

  SimWorld& world_;
  Invariants& invariants_;
  std::map<Key, Pod> pods_;
  std::map<Key, Set> sets_;
  std::map<Key, bool> reserved_;            // Workload → it held quota
  std::map<std::string, SteadyTime> gone_;  // Workload "ns/name" → when
  bool ended_ = false;
};

}  // namespace berth::sim

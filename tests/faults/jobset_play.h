// tests/faults/jobset_play.h — JobSets in a story with their controller, and the rules
// of JobSets.
//
//     JobSet ──▶ while it is not suspended: batch Jobs, which the cluster's Job controller runs
//            ◀── status: its Jobs that are active, ready, succeeded, failed; Suspended, Completed,
//                Failed
//
// As jobset-controller: a suspended set suspends its Jobs and, when they have stopped, deletes
// them; Jobs that have succeeded stay. One failed Job fails the set.
//
// Rules:
//   jobset-without-admission  a set is started although its Workload is not admitted
//   jobset-in-wrong-place     … or without the node labels of its assigned flavors
//   too-many-jobset-pods      more pods of a set are at work than its Workload was granted
//   jobset-released           quota is given back while pods run that nobody has deleted
// and of states that may exist for a moment:
//   jobset-runs-unadmitted    a set that is not suspended, or pods at work, without an admission
//   jobset-template-changed   the templates of a suspended set differ from the original ones
//   jobset-not-finished       a set has ended, its Workload has not
//
// Threads: one.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/faults/player.h"

namespace berth::sim {

inline constexpr char kJobSetFramework[] = "jobset.x-k8s.io/jobset";
inline constexpr char kJobSetGroup[] = "jobset.x-k8s.io";
inline constexpr char kJobSetVersion[] = "v1alpha2";

class JobSetPlay final : public Player {
 public:
  JobSetPlay(const Story& story, SimWorld& world, Invariants& invariants)
      : world_(world), invariants_(invariants), random_(story.seed) {}

  void Begin() override;
  void See(const local::StoreEvent& event, bool by_story) override;
  void Find(Findings& findings) const override;
  bool IsOver(const CouldRun& could_run) const override;
  void CheckRest(const CouldRun& could_run) override;
  bool Owns(const WorkloadFacts& workload) const override;
  bool Keeps(const Key& /*pod*/) const override { return false; }
  void Drop(const WorkloadFacts& workload, std::vector<std::string>& lines) override;
  std::vector<std::string> End() override;
  void ExpectNothingLeft() override;

 private:
  struct Pod {
    std::string set;  // name of its JobSet
    bool at_work = false;
    bool running = false;
  };
  struct Held {
    std::string job_uid;
    bool reserved = false;
  };

  bool IsSettled(const local::Json& set, const CouldRun& could_run) const;
  const WorkloadFacts* WorkloadOf(const local::Json& set) const;
  void SeeSet(const Key& key, const local::Json* object, bool by_story);
  void SeeChild(const Key& key, const local::Json* object);
  void SeePod(const Key& key, const local::Json* object);
  void SeeWorkload(const Key& key, bool by_story);
  void CheckStart(const local::Json& set);
  std::int64_t PodsAtWork(const Key& set) const;

  // The controller.
  void LookLater(const Key& key);
  void LookAgain(const Key& key);
  void Act(const Key& key);
  bool Suspend(const local::Json& child);
  bool Create(const local::Json& set, const local::Json& part, const std::string& name);
  local::Json ConditionOf(const char* type, bool is_true, const char* reason) const;
  local::Json ToldSuspended(const local::Json& set) const;
  void ReportStatus(const Key& key, const local::Json& set);
  std::map<std::string, local::Json> ChildrenOf(const Key& set) const;  // by name

  SimWorld& world_;
  Invariants& invariants_;
  Random random_;
  std::map<Key, local::Json> sets_;
  std::map<std::string, local::Json> originals_;  // UID → spec.replicatedJobs
  std::map<Key, local::Json> children_;
  std::map<Key, Pod> pods_;
  std::map<Key, Held> held_;                   // Workload → its state
  std::map<std::string, SteadyTime> deleted_;  // UID of a JobSet → when its Workload was deleted
  std::set<Key> awaited_;                      // sets that are looked at soon
  bool ended_ = false;
};

}  // namespace berth::sim

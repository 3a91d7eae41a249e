// tests/faults/dask_play.h — Dask clusters in a story, with their operator
// (dask_operator.h), and the rules of clusters.
//
// Rules:
//   dask-pod-without-admission  a pod loses its gate although the Workload that counts it, or that
//                               of the cluster, is not admitted
//   too-many-dask-pods          more pods of a pod set lose their gate than the cluster's Workloads
//                               have quota for
//   dask-released               a Workload gives quota back that pods use which nobody has deleted
// and of states that may exist for a moment:
//   dask-runs-unadmitted        a pod without a gate of a cluster that is not admitted
//   dask-over-quota             more pods of a pod set run than the Workloads have quota for
//   dask-pod-held               a pod waits at its gate although its cluster has quota for it
//   dask-pod-missed             a pod exists that lacks its cluster's marks: its review did not
//                               know the cluster
//
// Threads: one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/faults/dask_operator.h"
#include "tests/faults/player.h"

namespace berth::sim {

inline constexpr char kDaskFramework[] = "kubernetes.dask.org/daskcluster";

class DaskPlay final : public Player {
 public:
  DaskPlay(const Story& story, SimWorld& world, Invariants& invariants)
      : world_(world), invariants_(invariants), operator_(world, story.seed) {}

  void Begin() override;
  void See(const local::StoreEvent& event, bool by_story) override;
  void Find(Findings& findings) const override;
  bool IsOver(const CouldRun& could_run) const override;
  void CheckRest(const CouldRun& could_run) override;
  bool Owns(const WorkloadFacts& workload) const override;
  bool Keeps(const Key& pod) const override;
  void Drop(const WorkloadFacts& workload, std::vector<std::string>& lines) override;
  std::vector<std::string> End() override;
  void ExpectNothingLeft() override;

 private:
  struct Pod {
    std::string uid;
    std::string cluster;
    std::string pod_set;
    std::string workload;  // that its start names
    bool gated = false;
    bool missed = false;   // its review did not know the cluster: it is soon deleted
    bool at_work = false;  // neither missed nor gated nor ended nor deleted
    bool waits = false;    // gated, not deleted
    bool running = false;
  };

  static Pod Read(const local::Json& object);
  const WorkloadFacts* WorkloadOf(const local::Json& cluster) const;
  // The pods of the pod set that the cluster's Workloads have quota for.
  std::int64_t QuotaOf(const local::Json& cluster, const std::string& pod_set) const;
  std::int64_t CountPods(const Key& cluster, const std::string& pod_set, bool Pod::*which) const;
  const local::Json* ClusterOf(const std::string& uid) const;
  void SeePod(const Key& key, const local::Json* object);
  void SeeWorkload(const Key& key, bool by_story);
  void CheckStart(const Key& key, const Pod& pod);
  bool IsLate(const std::string& cluster_uid) const;
  bool IsSettled(const local::Json& cluster, const CouldRun& could_run) const;

  SimWorld& world_;
  Invariants& invariants_;
  DaskOperator operator_;
  std::map<Key, Pod> pods_;
  std::map<Key, WorkloadFacts> workloads_;     // facts that were seen last
  std::map<std::string, SteadyTime> deleted_;  // UID of a cluster → when a Workload was deleted
};

}  // namespace berth::sim

// tests/faults/dask_operator.h — Dask's operator in virtual time.
//
//     DaskCluster ──▶ Deployment of the scheduler,
//                     DaskWorkerGroup ──▶ a Deployment of one pod for each worker;
//                                         the cluster's own controllers make the pods
//
// The operator does what dask-kubernetes does. It creates everything at once and repairs nothing; a
// smaller group retires workers that run, through the scheduler: while that one does not run, the
// handler fails and tries again a minute later; without workers that run nothing is retired. The
// cluster is deleted `idleTimeout` after its scheduler has started.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/random.h"
#include "scenarios/world/sim_world.h"

namespace berth::sim {

inline constexpr char kDaskGroup[] = "kubernetes.dask.org";
inline constexpr char kDaskVersion[] = "v1";
inline constexpr char kDaskClusterLabel[] = "dask.org/cluster-name";
inline constexpr char kDaskComponentLabel[] = "dask.org/component";
inline constexpr char kDaskGroupLabel[] = "dask.org/workergroup-name";

class DaskOperator {
 public:
  using Key = std::pair<std::string, std::string>;

  DaskOperator(SimWorld& world, std::uint64_t seed) : world_(world), random_(seed) {}

  Status Begin();
  void See(const local::StoreEvent& event);
  void End() { ended_ = true; }
  const std::map<Key, local::Json>& clusters() const { return clusters_; }

 private:
  using Objects = std::map<Key, local::Json>;

  void Later(Duration after, std::function<void()> task);
  void SeeCluster(const Key& key, const local::Json* before, const local::Json* now);
  void SeeGroup(const Key& key, const local::Json* before, const local::Json* now);
  void SeePod(const Key& key, const local::Json* before, const local::Json* now);

  // Handlers of the operator.
  void MakeParts(const Key& cluster);
  void Scale(const Key& group);
  void Retire(const Key& group, std::size_t count);
  void DeleteIdle(const Key& cluster, const std::string& scheduler_uid);
  bool MakeDeployment(const local::Json& cluster, const local::Json& owner, const std::string& name,
                      const local::Json& part, const local::Json& labels);

  bool Create(const local::ResourceId& resource, const local::Json& object);

  SimWorld& world_;
  Random random_;
  Objects clusters_;
  Objects groups_;
  Objects deployments_;
  Objects pods_;                // pods of clusters
  std::set<std::string> made_;  // UIDs of clusters and groups that have been seen
  bool ended_ = false;
};

}  // namespace berth::sim

// admission/controller/topology_feed.h — tells the scheduler of Topologies, and of the nodes and
// pods that topology-aware scheduling counts (admission/topology/node_inventory.h).
//
// Nodes and pods are watched from the first Topology on: a cluster without one does not pay for
// copies of all its pods. A Topology is shown to the scheduler once nodes and pods are known, so
// that nothing is placed where somebody runs already; until then its queues wait for it.
//
// Of the pods only those are passed on that take room outside any topology assignment, when they
// begin and when they cease to.
//
// Threads: the manager's Executor.
#pragma once

#include <functional>

#include "admission/scheduler.h"
#include "kube/client/informer.h"
#include "kube/runtime/manager.h"

namespace berth::admission {

class TopologyFeed {
 public:
  enum class Change { kTopologies, kNodes };
  // `changed` is called after the scheduler was told of something.
  TopologyFeed(kube::Manager& manager, Scheduler& scheduler, std::function<void(Change)> changed);
  TopologyFeed(const TopologyFeed&) = delete;
  TopologyFeed& operator=(const TopologyFeed&) = delete;

  enum class Mode { kAsIs, kWithNodes };  // kAsIs: gate TopologyAwareScheduling is off
  void Connect(Mode mode);

 private:
  void Open();
  void OnSynced();
  bool IsOpen() const;  // nodes and pods are known
  void WatchNodes();
  void WatchPods();

  kube::Manager& manager_;
  Scheduler& scheduler_;
  std::function<void(Change)> changed_;
  Mode mode_ = Mode::kAsIs;
  kube::Informer<api::Topology>& topologies_;
  kube::Informer<api::Node>* nodes_ = nullptr;
  kube::Informer<api::Pod>* pods_ = nullptr;
};

}  // namespace berth::admission

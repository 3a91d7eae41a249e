// admission/controller/feeds/topology_feed.h — shows Topologies to the scheduler, and the nodes and
// pods that topology-aware scheduling counts (admission/topology/node_inventory.h).
//
// Nodes and pods are watched from the first Topology on, so that a cluster without one keeps no
// copies of its pods. The scheduler is shown a Topology once nodes and pods are known, so that no
// pod is placed on used room; until then the Topology's queues are inactive.
//
// Only pods outside any topology assignment are passed on: when they begin, and when they cease, to
// use their node.
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
  // Calls `changed` after each change that was applied to the scheduler.
  TopologyFeed(kube::Manager& manager, Scheduler& scheduler, std::function<void(Change)> changed);
  TopologyFeed(const TopologyFeed&) = delete;
  TopologyFeed& operator=(const TopologyFeed&) = delete;

  enum class Mode { kAsIs, kWithNodes };  // kAsIs: gate TopologyAwareScheduling is off
  void Connect(Mode mode);

 private:
  void Open();
  void OnSynced();
  bool IsOpen() const;  // true: nodes and pods are known
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

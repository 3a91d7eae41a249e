// admission/controller/node_failures.h — watches the nodes that workloads were placed on, and tells
// the workloads of those that failed (admission/lifecycle/node_failure.h says which have).
//
// Looks at one node at a time: when it fails, recovers, is tainted or goes; when a pod of a placed
// workload on it ends, or was sent to it and is not bound; when a workload is placed on one that is
// not well. Node and Pod informers start with the first Topology.
//
// Threads: the manager's Executor. Errors: of the API; the work queue repeats the node.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/controller/workload_writer.h"
#include "admission/lifecycle/node_failure.h"
#include "api/queues.h"
#include "base/clock.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/reconciler.h"
#include "kube/runtime/steps.h"

namespace berth::admission {

class NodeFailures final : public kube::Reconciler {
 public:
  // Told of each status that was written, for metrics.
  using Observer = std::function<void(const api::Workload& before, const WorkloadPlan& plan)>;

  NodeFailures(kube::Manager& manager, WorkloadWriter& writer, kube::EventRecorder& events,
               const Clock& clock, const NodeFailureOptions& options, Observer observer);
  NodeFailures(const NodeFailures&) = delete;
  NodeFailures& operator=(const NodeFailures&) = delete;

  // Tells `controller` which nodes to look at, from now on; before the informers start.
  void Watch(kube::Controller& controller);

  std::string_view name() const override { return "tas_node"; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

 private:
  void Open();
  void WatchNodes();
  void WatchPods();
  void OnWorkload(const api::Workload& workload);
  WorkloadOnNode Observe(const api::Workload& workload, const std::string& node) const;
  std::vector<std::shared_ptr<const api::Workload>> WorkloadsOf(const std::string& node) const;
  kube::Step StatusStep(const std::shared_ptr<const api::Workload>& workload, WorkloadPlan plan);
  kube::Step FailPodStep(const api::Pod& pod);

  kube::Manager& manager_;
  WorkloadWriter& writer_;
  kube::EventRecorder& events_;
  const Clock& clock_;
  const NodeFailureOptions options_;
  Observer observer_;
  kube::Informer<api::Workload>& workloads_;
  kube::Informer<api::ResourceFlavor>& flavors_;
  kube::Informer<api::Topology>& topologies_;
  kube::Informer<api::Node>* nodes_ = nullptr;  // null: no topology so far
  kube::Informer<api::Pod>* pods_ = nullptr;
  kube::Controller* controller_ = nullptr;
};

}  // namespace berth::admission

// admission/controller/workloads/node_failures.h — watches the nodes that workloads are placed on,
// and marks the workloads of failed nodes. admission/lifecycle/node_failure.h decides which nodes
// failed.
//
// Reconciles the nodes of one hostname at a time: when a node fails, recovers, is tainted or is
// deleted; when a pod of a placed workload ends there, or is assigned there and not bound; when a
// workload is placed on an unhealthy node. A pod that waits for a node although its workload has
// lost its admission is failed. Pods are those whose node selector asks for the hostname. Node and
// Pod informers start with the first Topology.
//
// Threads: the manager's Executor. Errors: those of the API; the work queue retries the node.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/controller/workloads/workload_writer.h"
#include "admission/lifecycle/node_failure.h"
#include "api/queues.h"
#include "base/clock.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/reconciler.h"
#include "kube/runtime/write_steps.h"

namespace berth::admission {

class NodeFailures final : public kube::Reconciler {
 public:
  // Called after each status write, for metrics.
  using Observer = std::function<void(const api::Workload& before, const WorkloadPlan& plan)>;

  NodeFailures(kube::Manager& manager, WorkloadWriter& writer, kube::EventRecorder& events,
               const Clock& clock, const NodeFailureOptions& options, Observer observer);
  NodeFailures(const NodeFailures&) = delete;
  NodeFailures& operator=(const NodeFailures&) = delete;

  // Adds hostnames to reconcile to `controller`. Call before the informers start.
  void Watch(kube::Controller& controller);

  std::string_view name() const override { return "tas_node"; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

 private:
  void Open();
  void WatchNodes();
  void WatchPods();
  void OnWorkload(const api::Workload& workload);
  bool HasFailed(const std::string& hostname) const;  // some workload calls it unhealthy
  WorkloadOnNode Observe(const api::Workload& workload, const std::string& hostname) const;
  std::vector<std::shared_ptr<const api::Workload>> WorkloadsOf(const std::string& hostname) const;
  kube::Step StatusStep(const std::shared_ptr<const api::Workload>& workload, WorkloadPlan plan);
  kube::Step FailPodStep(const api::Pod& pod);
  kube::Step StrayStep(const api::Pod& pod);

  kube::Manager& manager_;
  WorkloadWriter& writer_;
  kube::EventRecorder& events_;
  const Clock& clock_;
  const NodeFailureOptions options_;
  Observer observer_;
  kube::Informer<api::Workload>& workloads_;
  kube::Informer<api::ResourceFlavor>& flavors_;
  kube::Informer<api::Topology>& topologies_;
  kube::Informer<api::Node>* nodes_ = nullptr;  // null: no Topology yet
  kube::Informer<api::Pod>* pods_ = nullptr;
  kube::Controller* controller_ = nullptr;
};

}  // namespace berth::admission

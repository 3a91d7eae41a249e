// provisioning/controller/node_view.h — nodes and pods as the decision sees them (reuse.h,
// late_pods.h), and the Workloads to reconcile when nodes or pods change.
//
// Nothing is watched until a policy reuses nodes or looks at late pods; from then on all Nodes and
// Pods are watched. The set of idle nodes is kept up to date with every event.
//
// Threads: one Executor, that of the manager. Pointers in answers are valid during the task.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/pod.h"
#include "api/provisioning_policy.h"
#include "api/provisioning_request.h"
#include "api/workload.h"
#include "kube/runtime/manager.h"
#include "provisioning/decide.h"

namespace berth::provisioning {

// The time between reconciles of a Workload that waits for the first list of nodes.
inline constexpr Duration kNodesLag = std::chrono::seconds(1);

// Whether the policy's rules need nodes and pods.
bool NeedsNodes(const api::ProvisioningPolicy& policy);

class NodeView {
 public:
  using Wake = std::function<void(const api::ObjectKey& workload)>;

  NodeView(kube::Manager& manager, kube::Informer<api::Workload>& workloads,
           kube::Informer<api::ProvisioningRequest>& requests, Wake wake);

  // Begins to watch; further calls change nothing.
  void Open();
  // Whether decisions that need nodes have to wait for the first list.
  bool IsLoading() const;
  bool IsOpen() const;

  enum class Idle : std::uint8_t { kLeaveOut, kInclude };
  // The nodes that are leased to the Workload and, with kInclude, the idle ones.
  NodesSeen NodesFor(const api::Workload& workload, Idle idle) const;
  // Empty where no pod uses a request or lease of the situation's Workload.
  PodsSeen PodsFor(const Situation& situation) const;
  // The nodes whose lease names the Workload.
  std::vector<std::shared_ptr<const api::Node>> LeasedTo(const api::ObjectKey& workload) const;
  // Called with the number of leased nodes when it changes.
  void OnLeases(std::function<void(std::size_t)> tell) { tell_leases_ = std::move(tell); }
  void Ingest(const kube::Json& node) { nodes_->Ingest(node); }

 private:
  void WatchNodes();
  void CountLease(const std::string& node, bool leased);
  void WatchPods();
  void AddIndexes();
  void Refresh(const std::string& node);
  void WakeUsersOf(const api::Pod& pod) const;
  void WakeUsersOfNode(const api::Node& node) const;
  void TakeBookings(const api::Workload& workload, NodesSeen& seen) const;

  kube::Manager& manager_;
  kube::Informer<api::Workload>& workloads_;
  kube::Informer<api::ProvisioningRequest>& requests_;
  const Wake wake_;
  kube::Informer<api::Node>* nodes_ = nullptr;  // null: not open
  kube::Informer<api::Pod>* pods_ = nullptr;
  std::function<void(std::size_t)> tell_leases_;  // null: not called
  std::set<std::string> leased_;                  // nodes
  std::set<std::string> idle_;                    // nodes that hold no pods but those of daemons
};

}  // namespace berth::provisioning

// provisioning/controller/meter_reconciler.h — measures what nodes cost (meter.h), for Workloads
// whose ProvisioningPolicy has `metering`.
//
//     Node ─ its request, its lease, or its pods ─▶ Workload
//                            Workload ─ its step's price ─▶ meter of the LocalQueue
//
// Pods tell the Workload of a node that pending pods have brought: a node that was made after the
// Workload got its quota, and that holds pods of the Workload or its placeholders. Older nodes,
// such as those of a fixed pool, are not measured; a measured node that takes pods of another
// Workload after those of the first one have gone counts for the other one.
//
//     berth_capacity_node_seconds_total    by class and ClusterQueue
//     berth_capacity_cost_usd_total        the same, for nodes whose price is known
//
// Each node is reconciled once a minute while it exists; the meters are written every five minutes,
// and when a node has gone. While no policy has `metering`, no node is watched; while no check of
// berth.dev/reactive-capacity exists, no pod is.
//
// Threads: one Executor, that of the manager. Errors: of the API, for the work queue to retry.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/pod.h"
#include "api/provisioning_policy.h"
#include "api/provisioning_request.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/metrics.h"
#include "kube/runtime/reconciler.h"
#include "provisioning/controller/spend_keeper.h"

namespace berth::provisioning {

class MeterReconciler final : public kube::Reconciler {
 public:
  // `settled` is called when a queue may have more of its budget left than before; `noted`, which
  // may be null, when a meter has counted further or has ended. `metrics` may be null. All
  // arguments must outlive the object.
  MeterReconciler(kube::Manager& manager, const Clock& clock, SpendKeeper& spend,
                  kube::Metrics* metrics, std::function<void(const std::string& queue)> settled,
                  std::function<void(const MeterNote&)> noted = nullptr);

  void Watch(kube::Controller& controller);
  std::string_view name() const override { return "node-meter"; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

 private:
  void Open();
  void OpenPods();
  void AddNodesOf(const api::ProvisioningRequest& request);
  // The use of the node; nullopt: the node has no use that is measured.
  std::optional<NodeUse> UseOf(const api::Node& node) const;
  std::optional<NodeUse> LeaseUse(const api::Node& node) const;
  std::optional<NodeUse> RequestUse(const api::Node& node) const;
  std::optional<NodeUse> PodUse(const api::Node& node) const;
  bool IsReactive(const api::Workload& workload) const;
  std::string StepByFlavor(const api::Workload& workload) const;
  NodeUse UseBy(const api::Node& node, const api::Workload& workload) const;
  const api::ProvisioningPolicy* MeteringPolicyOf(const api::Workload& workload) const;
  std::optional<std::int64_t> PriceFor(const api::Workload& workload,
                                       const std::string& step) const;
  // Counts the open meter up to now.
  void Extend(const MeterPlace& place);
  void Note(const MeterPlace& place) const;
  std::map<std::string, api::Amount> SharesOf(const api::Node& node,
                                              const api::Workload* workload) const;
  void TakeUp(const std::string& queue);
  std::set<std::string> Count(const std::string& name, const api::Node* node,
                              const std::optional<NodeUse>& use);
  void Write(std::vector<std::string> queues, kube::NextLook next, Done done);

  kube::Manager& manager_;
  const Clock& clock_;
  SpendKeeper& spend_;
  kube::Metrics* metrics_;
  const std::function<void(const std::string&)> settled_;
  const std::function<void(const MeterNote&)> noted_;  // may be null
  kube::Informer<api::Workload>& workloads_;
  kube::Informer<api::AdmissionCheck>& checks_;
  kube::Informer<api::ProvisioningRequestConfig>& configs_;
  kube::Informer<api::ProvisioningPolicy>& policies_;
  kube::Informer<api::ProvisioningRequest>& requests_;
  kube::Informer<api::ResourceFlavor>& flavors_;
  kube::Informer<api::Node>* nodes_ = nullptr;  // null: no policy has `metering`
  kube::Informer<api::Pod>* pods_ = nullptr;    // null: no check lets pods bring nodes
  kube::Controller* controller_ = nullptr;      // null: before Watch
  std::map<std::string, WallTime> written_;     // the last write of each queue
  std::set<std::string> taken_up_;              // queues whose written meters were looked at
};

}  // namespace berth::provisioning

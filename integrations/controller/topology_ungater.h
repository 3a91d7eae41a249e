// integrations/controller/topology_ungater.h — removes the topology gate of pods of admitted
// workloads, with each pod's domain in its node selector (integrations/ungating.h chooses domains).
//
// Reconciles one workload at a time, a moment after its pods changed, so that pods created together
// are handled together. All writes of a reconcile end before the next one of the workload begins; a
// write with unknown outcome is read back first, so that no pod is counted in two domains.
//
// The Pod informer starts with the first workload that has a topology assignment, so that a cluster
// without topologies keeps no copy of its pods.
//
// Threads: the manager's Executor. Errors: those of the API; the work queue retries the workload.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "integrations/controller/gated_pods.h"
#include "integrations/ungating.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/metrics.h"
#include "kube/runtime/reconciler.h"

namespace berth::integrations {

class TopologyUngater final : public kube::Reconciler {
 public:
  // `max_in_flight`: most pod writes at once for one workload.
  // `metrics` gets the time from admission to ungating of each pod; may be null.
  TopologyUngater(kube::Manager& manager, const Clock& clock, kube::Metrics* metrics,
                  std::size_t max_in_flight = 16);
  TopologyUngater(const TopologyUngater&) = delete;
  TopologyUngater& operator=(const TopologyUngater&) = delete;

  // Adds workloads to reconcile to `controller` from now on. This object must outlive the manager.
  void Watch(kube::Controller& controller);

  std::string_view name() const override { return "topology_ungater"; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

 private:
  void Open();  // starts the Pod informer
  void AddWorkloadOf(const api::Pod& pod);
  std::vector<GatedPods::Write> Plan(const api::ObjectKey& workload) const;

  void Observe(const api::ObjectKey& workload) const;

  const Clock& clock_;
  kube::Metrics* metrics_;
  GatedPods gated_;
  kube::Informer<api::Workload>& workloads_;
  kube::Controller* controller_ = nullptr;
};

}  // namespace berth::integrations

// integrations/controller/topology_ungater.h — lets the gated pods of admitted workloads go, each
// into the domain that its workload was assigned (integrations/ungating.h decides which).
//
// Looks at one workload at a time, a moment after its pods changed, so that pods that come together
// are handled together. Every write is answered before the workload is looked at again; a write
// whose outcome is unknown is read back first, so that no pod is counted in two domains.
//
// The Pod informer starts with the first workload that was placed by topology: a cluster without
// topologies does not pay for a copy of all its pods.
//
// Threads: the manager's Executor. Errors: of the API; the work queue repeats the workload.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "integrations/ungating.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/reconciler.h"

namespace berth::integrations {

class TopologyUngater final : public kube::Reconciler {
 public:
  // `max_in_flight`: pods written at once for one workload.
  explicit TopologyUngater(kube::Manager& manager, std::size_t max_in_flight = 16);
  TopologyUngater(const TopologyUngater&) = delete;
  TopologyUngater& operator=(const TopologyUngater&) = delete;

  // Tells `controller` which workloads to look at, from now on. It must outlive the manager.
  void Watch(kube::Controller& controller);

  std::string_view name() const override { return "topology_ungater"; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

 private:
  struct Writes;  // those of one look

  void Open();  // once a workload needs it
  void AddWorkloadOf(const api::Pod& pod);
  void LetGo(const api::ObjectKey& key, Done done);
  void ReadBack(const api::ObjectKey& key, std::vector<api::ObjectKey> pods, Done done);
  void Next(const std::shared_ptr<Writes>& writes);
  void OnWritten(const std::shared_ptr<Writes>& writes, const api::ObjectKey& pod,
                 const Result<kube::JsonPtr>& answer);

  kube::Manager& manager_;
  std::size_t max_in_flight_;
  kube::Informer<api::Workload>& workloads_;
  kube::Informer<api::Pod>* pods_ = nullptr;  // null: not needed so far
  kube::Controller* controller_ = nullptr;
  // By workload: pods of which nobody knows whether they were let go.
  std::map<api::ObjectKey, std::set<api::ObjectKey>> unknown_;
};

}  // namespace berth::integrations

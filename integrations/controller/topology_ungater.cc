#include "integrations/controller/topology_ungater.h"

#include <optional>
#include <utility>

#include "api/labels.h"
#include "integrations/controller/gate_removals.h"
#include "integrations/job_slices.h"
#include "integrations/slice_ungating.h"

namespace berth::integrations {
namespace {

constexpr char kOfChain[] = "ungater/chain";        // "namespace/name"
constexpr char kByWorkload[] = "ungater/workload";  // "namespace/name"
constexpr Duration kBatch = std::chrono::milliseconds(100);

// The workload that a pod's annotation names. The slices of an elastic job have one name together:
// pods outlive the slice with which they were created.
std::optional<api::ObjectKey> WorkloadKeyOf(const api::Pod& pod) {
  const std::string* name = api::FindValue(pod.meta.annotations, api::kSliceNameAnnotation);
  if (name == nullptr) name = api::FindValue(pod.meta.annotations, api::kWorkloadAnnotation);
  if (name == nullptr) return std::nullopt;
  return api::ObjectKey{pod.meta.namespace_name, *name};
}

api::ObjectKey KeyOf(const api::Workload& workload) {
  const std::string chain = ChainOf(workload);
  return chain.empty() ? workload.meta.key() : api::ObjectKey{workload.meta.namespace_name, chain};
}

}  // namespace

TopologyUngater::TopologyUngater(kube::Manager& manager, const Clock& clock, kube::Metrics* metrics,
                                 std::size_t max_in_flight)
    : clock_(clock),
      metrics_(metrics),
      gated_(manager, max_in_flight),
      workloads_(manager.InformerFor<api::Workload>()) {
  workloads_.AddIndex(kOfChain, [](const api::Workload& workload) {
    return IsSlice(workload) ? std::vector{KeyOf(workload).ToString()} : std::vector<std::string>{};
  });
  if (metrics_ == nullptr) return;
}

void TopologyUngater::Observe(const api::ObjectKey& key) const {
  if (metrics_ == nullptr) return;
  const auto slices = workloads_.ByIndex(kOfChain, key.ToString());
  const auto named = workloads_.Get(key);
  const api::Workload* workload = slices.empty() ? named.get() : AdmittedSlice(slices);
  if (workload == nullptr) return;
  ObserveGateRemoval(*metrics_, *workload, api::kTopologyGate, clock_.Now());
}

void TopologyUngater::Watch(kube::Controller& controller) {
  controller_ = &controller;
  const auto changed = [this](const auto& workload) {
    if (!IsPlacedByTopology(*workload)) return;
    Open();
    controller_->AddAfter(KeyOf(*workload), kBatch);
  };
  workloads_.AddHandler(
      {.on_add = changed,
       .on_update = [changed](const auto&, const auto& workload) { changed(workload); },
       .on_delete = [this](const auto& workload) { gated_.Forget(KeyOf(*workload)); }});
}

void TopologyUngater::Open() {
  if (gated_.is_open()) return;
  kube::Informer<api::Pod>& pods = gated_.Open();
  pods.AddIndex(kByWorkload, [](const api::Pod& pod) {
    const auto key = WorkloadKeyOf(pod);
    return key ? std::vector{key->ToString()} : std::vector<std::string>{};
  });
  const auto changed = [this](const auto& pod) { AddWorkloadOf(*pod); };
  pods.AddHandler({.on_add = changed,
                   .on_update = [changed](const auto&, const auto& pod) { changed(pod); },
                   .on_delete = changed});
}

void TopologyUngater::AddWorkloadOf(const api::Pod& pod) {
  if (const auto key = WorkloadKeyOf(pod)) controller_->AddAfter(*key, kBatch);
}

void TopologyUngater::Reconcile(const api::ObjectKey& key, Done done) {
  gated_.Run({.key = key,
              .plan = [this, key] { return Plan(key); },
              .on_written = [this, key] { Observe(key); },
              .done = std::move(done)});
}

std::vector<GatedPods::Write> TopologyUngater::Plan(const api::ObjectKey& key) const {
  std::vector<GatedPods::Write> writes;
  const auto slices = workloads_.ByIndex(kOfChain, key.ToString());
  const auto named = workloads_.Get(key);
  const api::Workload* workload = slices.empty() ? named.get() : AdmittedSlice(slices);
  if (workload == nullptr) return writes;
  for (const Ungating& one :
       PlanUngating(*workload, gated_.pods().ByIndex(kByWorkload, key.ToString()))) {
    writes.push_back({one.pod, UngatePatch(*one.pod, api::kTopologyGate, one.node_labels, {})});
  }
  return writes;
}

}  // namespace berth::integrations

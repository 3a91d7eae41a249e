#include "integrations/controller/topology_ungater.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/labels.h"
#include "api/reasons.h"
#include "integrations/job_slices.h"
#include "integrations/slice_ungating.h"

namespace berth::integrations {
namespace {

constexpr char kOfChain[] = "ungater/chain";        // "namespace/name"
constexpr char kByWorkload[] = "ungater/workload";  // "namespace/name"
constexpr Duration kBatch = std::chrono::milliseconds(100);
constexpr char kGateRemoval[] = "kueue_pod_scheduling_gate_removal_seconds";
constexpr double kLongestBucket = 10240;

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
  std::vector<double> buckets{1};
  for (double bound = 2.5; bound <= kLongestBucket; bound *= 2) buckets.push_back(bound);
  metrics_->DeclareHistogram(kGateRemoval,
                             "Time from a workload's admission to the removal of a pod's gate",
                             std::move(buckets));
}

// The admission's time has whole seconds, and may be of another clock: never below 0.
void TopologyUngater::Observe(const api::ObjectKey& key) const {
  const auto workload = workloads_.Get(key);
  if (metrics_ == nullptr || workload == nullptr || !workload->status.admission) return;
  const api::Condition* admitted = api::FindCondition(workload->status.conditions, api::kAdmitted);
  if (admitted == nullptr || admitted->status != api::ConditionStatus::kTrue) return;
  const Duration since =
      std::max<Duration>(clock_.Now() - admitted->last_transition_time, Duration::zero());
  metrics_->Observe(kGateRemoval,
                    {{"name", api::kTopologyGate},
                     {"cluster_queue", workload->status.admission->cluster_queue},
                     {"is_group", "false"}},
                    std::chrono::duration<double>(since).count());
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

#include "integrations/controller/slice_ungater.h"

#include <optional>
#include <string>
#include <utility>

#include "api/labels.h"
#include "integrations/controller/gate_removals.h"
#include "integrations/job_slices.h"
#include "integrations/slice_ungating.h"

namespace berth::integrations {
namespace {

constexpr char kByChain[] = "slices/chain";  // "namespace/name"
constexpr Duration kGather = std::chrono::milliseconds(100);

std::optional<api::ObjectKey> ChainKeyOf(const api::Workload& workload) {
  const std::string chain = ChainOf(workload);
  if (chain.empty()) return std::nullopt;
  return api::ObjectKey{workload.meta.namespace_name, chain};
}

std::optional<api::ObjectKey> ChainKeyOf(const api::Pod& pod) {
  const std::string* name = api::FindValue(pod.meta.annotations, api::kSliceNameAnnotation);
  if (name == nullptr) name = api::FindValue(pod.meta.annotations, api::kWorkloadAnnotation);
  if (name == nullptr) return std::nullopt;
  return api::ObjectKey{pod.meta.namespace_name, *name};
}

template <typename T>
std::vector<std::string> IndexValues(const T& object) {
  const auto key = ChainKeyOf(object);
  return key ? std::vector{key->ToString()} : std::vector<std::string>{};
}

}  // namespace

SliceUngater::SliceUngater(kube::Manager& manager, const Clock& clock, kube::Metrics* metrics,
                           std::size_t max_in_flight)
    : clock_(clock),
      metrics_(metrics),
      gated_(manager, max_in_flight),
      workloads_(manager.InformerFor<api::Workload>()) {
  workloads_.AddIndex(kByChain, IndexValues<api::Workload>);
}

void SliceUngater::Watch(kube::Controller& controller) {
  controller_ = &controller;
  const auto changed = [this](const auto& workload) {
    const auto chain = ChainKeyOf(*workload);
    if (!chain) return;
    Open();
    controller_->AddAfter(*chain, kGather);
  };
  workloads_.AddHandler(
      {.on_add = changed,
       .on_update = [changed](const auto&, const auto& workload) { changed(workload); },
       .on_delete =
           [this](const auto& workload) {
             const auto chain = ChainKeyOf(*workload);
             if (chain && workloads_.ByIndex(kByChain, chain->ToString()).empty()) {
               gated_.Forget(*chain);
             }
           }});
}

void SliceUngater::Open() {
  if (gated_.is_open()) return;
  kube::Informer<api::Pod>& pods = gated_.Open();
  pods.AddIndex(kByChain, IndexValues<api::Pod>);
  const auto changed = [this](const auto& pod) {
    const auto chain = ChainKeyOf(*pod);
    if (chain && workloads_.HasIn(kByChain, chain->ToString())) {
      controller_->AddAfter(*chain, kGather);
    }
  };
  pods.AddHandler({.on_add = changed,
                   .on_update = [changed](const auto&, const auto& pod) { changed(pod); },
                   .on_delete = changed});
}

void SliceUngater::Reconcile(const api::ObjectKey& chain, Done done) {
  gated_.Run({.key = chain,
              .plan = [this, chain] { return Plan(chain); },
              .on_written = [this, chain] { Observe(chain); },
              .done = std::move(done)});
}

void SliceUngater::Observe(const api::ObjectKey& chain) const {
  if (metrics_ == nullptr) return;
  const auto slices = workloads_.ByIndex(kByChain, chain.ToString());
  const api::Workload* slice = AdmittedSlice(slices);
  if (slice == nullptr) return;
  ObserveGateRemoval(*metrics_, *slice, api::kElasticJobGate, clock_.Now());
}

std::vector<GatedPods::Write> SliceUngater::Plan(const api::ObjectKey& chain) const {
  std::vector<GatedPods::Write> writes;
  const auto slices = workloads_.ByIndex(kByChain, chain.ToString());
  const api::Workload* slice = AdmittedSlice(slices);
  if (slice == nullptr) return writes;
  for (const SliceUngating& one :
       PlanSliceUngating(*slice, gated_.pods().ByIndex(kByChain, chain.ToString()))) {
    writes.push_back(
        {one.pod, UngatePatch(*one.pod, api::kElasticJobGate, one.node_selector, one.annotations)});
  }
  return writes;
}

}  // namespace berth::integrations

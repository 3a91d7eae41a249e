// integrations/controller/slice_ungater.h — removes the elastic-job gate of pods: as many as the
// admitted slice of their job has (integrations/slice_ungating.h chooses them).
//
// Reconciles one job at a time, by the name that its slices have in common, a moment after its pods
// or slices changed. Pods name their job's slices in the annotation
// kueue.x-k8s.io/workload-slice-name or, without it, kueue.x-k8s.io/workload.
//
// The Pod informer starts with the first slice: a cluster without elastic jobs keeps no copy of its
// pods.
//
// Threads: the manager's Executor. Errors: those of the API; the work queue retries the job.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "integrations/controller/gated_pods.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/metrics.h"
#include "kube/runtime/reconciler.h"

namespace berth::integrations {

class SliceUngater final : public kube::Reconciler {
 public:
  // `metrics` gets the time from admission to ungating of each pod; may be null.
  SliceUngater(kube::Manager& manager, const Clock& clock, kube::Metrics* metrics,
               std::size_t max_in_flight = 16);
  SliceUngater(const SliceUngater&) = delete;
  SliceUngater& operator=(const SliceUngater&) = delete;

  // Adds jobs to reconcile to `controller` from now on. This object must outlive the manager.
  void Watch(kube::Controller& controller);

  std::string_view name() const override { return "slice_ungater"; }
  void Reconcile(const api::ObjectKey& chain, Done done) override;

 private:
  void Open();  // starts the Pod informer
  std::vector<GatedPods::Write> Plan(const api::ObjectKey& chain) const;
  void Observe(const api::ObjectKey& chain) const;

  const Clock& clock_;
  kube::Metrics* metrics_;
  GatedPods gated_;
  kube::Informer<api::Workload>& workloads_;
  kube::Controller* controller_ = nullptr;
};

}  // namespace berth::integrations

// admission/controller/queues/queue_reconcilers.h — status and finalizers of ClusterQueues and
// LocalQueues.
//
// Counters are written at the pace of CounterPace, and their final values are always written; a
// condition is written at once.
//
// Threads: one Executor.
// Source: Kueue pkg/controller/core/clusterqueue_controller.go, localqueue_controller.go.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "admission/controller/queues/counter_pace.h"
#include "admission/controller/queues/workload_tally.h"
#include "api/queues.h"
#include "base/clock.h"
#include "kube/client/informer.h"
#include "kube/runtime/reconciler.h"

namespace berth::admission {

// The scheduler's view of a ClusterQueue.
struct QueueStanding {
  bool active = false;
  std::string reason;  // reason of the condition Active
  std::string message;
  std::optional<std::int64_t> weighted_share;  // fair sharing only
};

struct QueueReconcilerParts {
  kube::ApiClient& client;
  kube::Informer<api::ClusterQueue>& cluster_queues;
  kube::Informer<api::LocalQueue>& local_queues;
  const WorkloadTally& tally;
  const Clock& clock;
  std::function<QueueStanding(const std::string& cluster_queue)> standing;
  // The usage history of a LocalQueue, if it has one, and the interval of its samples.
  std::function<std::optional<api::ConsumedUsage>(const api::ObjectKey&)> usage_history;
  Duration sampling_interval{};
  // Called with each computed status, also where the status is not written; for metrics.
  std::function<void(const api::ClusterQueue&, const api::QueueStatus&)> on_cluster_queue;
  std::function<void(const api::LocalQueue&, const api::QueueStatus&)> on_local_queue;
  std::function<Duration()> commentary_wait;  // the wait that CounterPace adds for commentary
};

// The index of LocalQueues by the ClusterQueue that they name.
inline constexpr char kByClusterQueue[] = "clusterQueue";

class ClusterQueueReconciler final : public kube::Reconciler {
 public:
  explicit ClusterQueueReconciler(QueueReconcilerParts parts) : parts_(std::move(parts)) {}
  std::string_view name() const override { return "clusterqueue"; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

  // Computes the status of the queue.
  api::QueueStatus StatusOf(const api::ClusterQueue& queue) const;

 private:
  bool ReconcileFinalizer(const api::ClusterQueue& queue, const Done& done);

  QueueReconcilerParts parts_;
  CounterPace pace_;
};

class LocalQueueReconciler final : public kube::Reconciler {
 public:
  explicit LocalQueueReconciler(QueueReconcilerParts parts) : parts_(std::move(parts)) {}
  std::string_view name() const override { return "localqueue"; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

  api::QueueStatus StatusOf(const api::LocalQueue& queue) const;

 private:
  void SampleUsage(const api::LocalQueue& queue, const api::ClusterQueue& cluster_queue,
                   api::QueueStatus& status) const;
  kube::NextLook NextSample(const api::QueueStatus& status) const;

  QueueReconcilerParts parts_;
  CounterPace pace_;
};

// Writes the share of cohorts, if fair sharing is on.
class CohortReconciler final : public kube::Reconciler {
 public:
  CohortReconciler(kube::ApiClient& client, kube::Informer<api::Cohort>& cohorts,
                   const Clock& clock,
                   std::function<std::optional<std::int64_t>(const std::string&)> share,
                   std::function<Duration()> commentary_wait)
      : client_(client),
        cohorts_(cohorts),
        clock_(clock),
        share_(std::move(share)),
        commentary_wait_(std::move(commentary_wait)) {}
  std::string_view name() const override { return "cohort"; }
  void Reconcile(const api::ObjectKey& key, Done done) override;

 private:
  kube::ApiClient& client_;
  kube::Informer<api::Cohort>& cohorts_;
  const Clock& clock_;
  std::function<std::optional<std::int64_t>(const std::string&)> share_;
  std::function<Duration()> commentary_wait_;
  CounterPace pace_;
};

}  // namespace berth::admission

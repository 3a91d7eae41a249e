#include "admission/controller/queues/queue_reconcilers.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "admission/controller/queues/finalizers.h"
#include "api/labels.h"
#include "api/reasons.h"

namespace berth::admission {
namespace {

using kube::Json;
using kube::NextLook;

constexpr char kQueueFieldManager[] = "kueue";

void SetActive(api::QueueStatus& status, bool active, const std::string& reason,
               const std::string& message, std::int64_t generation, WallTime now) {
  api::SetCondition(status.conditions,
                    {.type = api::kActive,
                     .status = active ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
                     .reason = reason,
                     .message = message,
                     .last_transition_time = CutToSeconds(now),
                     .observed_generation = generation});
}

// Counts workloads alone: amounts change with them.
std::int64_t CountersOf(const api::QueueStatus& status) {
  constexpr std::int64_t kBase = 1'000'003;
  return (status.pending_workloads * kBase + status.reserving_workloads) * kBase +
         status.admitted_workloads;
}

template <typename T>
void WriteStatus(kube::ApiClient& client, kube::Informer<T>& informer, const T& queue, Json status,
                 const kube::Reconciler::Done& done) {
  Json patch = {{"metadata", {{"uid", queue.meta.uid}}}, {"status", std::move(status)}};
  client.Patch(api::KindOf<T>(), queue.meta.key(), kube::PatchType::kMerge, std::move(patch),
               {.field_manager = kQueueFieldManager, .subresource = "status"},
               [&informer, done](const Result<kube::JsonPtr>& answer) {
                 if (!answer && answer.error().code != ErrorCode::kNotFound) {
                   return done(answer.error());
                 }
                 if (answer && *answer != nullptr) informer.Ingest(**answer);
                 done(NextLook{});
               });
}

}  // namespace

api::QueueStatus ClusterQueueReconciler::StatusOf(const api::ClusterQueue& queue) const {
  api::QueueStatus status = queue.status;
  const Tally& tally = parts_.tally.ClusterQueue(queue.meta.name);
  const QueueStanding standing = parts_.standing(queue.meta.name);
  const InCohort cohort = queue.spec.cohort_name.empty() ? InCohort::kNo : InCohort::kYes;
  status.flavors_reservation = UsageList(queue.spec.resource_groups, cohort, tally.reservation);
  status.flavors_usage = UsageList(queue.spec.resource_groups, cohort, tally.usage);
  status.reserving_workloads = tally.reserving;
  status.admitted_workloads = tally.admitted;
  status.pending_workloads = 0;
  for (const auto& local : parts_.local_queues.ByIndex(kByClusterQueue, queue.meta.name)) {
    if (local->stop_policy != api::StopPolicy::kNone) continue;
    status.pending_workloads += parts_.tally.LocalQueue(local->meta.key()).pending;
  }
  status.weighted_share = standing.weighted_share;
  SetActive(status, standing.active, standing.reason, standing.message, queue.meta.generation,
            parts_.clock.Now());
  return status;
}

void ClusterQueueReconciler::Reconcile(const api::ObjectKey& key, Done done) {
  const auto queue = parts_.cluster_queues.Get(key);
  if (queue == nullptr) {
    pace_.Forget(key);
    return done(NextLook{});
  }
  if (ReconcileFinalizer(*queue, done)) return;
  const api::QueueStatus status = StatusOf(*queue);
  parts_.on_cluster_queue(*queue, status);
  if (status == queue->status) return done(NextLook{});
  if (status.conditions == queue->status.conditions) {
    const auto wait =
        pace_.Wait(key, CountersOf(status), parts_.clock.SteadyNow(), parts_.commentary_wait);
    if (wait) return done(NextLook{wait});
  }
  pace_.OnWrite(key, parts_.clock.SteadyNow());
  WriteStatus(parts_.client, parts_.cluster_queues, *queue, api::EncodeClusterQueueStatus(status),
              done);
}

// A deleted queue stays until no workload holds its quota. Returns true if a write is under way.
bool ClusterQueueReconciler::ReconcileFinalizer(const api::ClusterQueue& queue, const Done& done) {
  const bool in_use = parts_.tally.ClusterQueue(queue.meta.name).reserving > 0;
  const auto finalizers = FinalizersAsTheyShouldBe(queue.meta, in_use);
  if (!finalizers) return false;
  WriteFinalizers<api::ClusterQueue>(parts_.client, parts_.cluster_queues, queue.meta, *finalizers,
                                     done);
  return true;
}

api::QueueStatus LocalQueueReconciler::StatusOf(const api::LocalQueue& queue) const {
  api::QueueStatus status = queue.status;
  const Tally& tally = parts_.tally.LocalQueue(queue.meta.key());
  const auto cluster_queue = parts_.cluster_queues.Get({"", queue.cluster_queue});
  if (cluster_queue != nullptr) {
    const auto& groups = cluster_queue->spec.resource_groups;
    status.flavors_reservation = UsageList(groups, InCohort::kNo, tally.reservation);
    status.flavors_usage = UsageList(groups, InCohort::kNo, tally.usage);
  } else {
    status.flavors_reservation.clear();
    status.flavors_usage.clear();
  }
  // A queue that is gone has no quota that a workload could hold.
  status.reserving_workloads = cluster_queue != nullptr ? tally.reserving : 0;
  status.admitted_workloads = cluster_queue != nullptr ? tally.admitted : 0;
  status.pending_workloads = tally.pending;
  const auto set = [&](bool active, const char* reason, const char* message) {
    SetActive(status, active, reason, message, queue.meta.generation, parts_.clock.Now());
  };
  if (queue.stop_policy != api::StopPolicy::kNone) {
    set(false, "Stopped", "LocalQueue is stopped");
  } else if (cluster_queue == nullptr) {
    set(false, "ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue");
  } else if (!parts_.standing(queue.cluster_queue).active) {
    set(false, "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue");
  } else {
    set(true, "Ready", "Can submit new workloads to localQueue");
    SampleUsage(queue, *cluster_queue, status);
  }
  return status;
}

// Kueue takes samples while the queue is active, and names each resource of the ClusterQueue.
void LocalQueueReconciler::SampleUsage(const api::LocalQueue& queue,
                                       const api::ClusterQueue& cluster_queue,
                                       api::QueueStatus& status) const {
  auto history = parts_.usage_history(queue.meta.key());
  if (!history) return;
  for (const api::ResourceGroup& group : cluster_queue.spec.resource_groups) {
    for (const std::string& resource : group.covered_resources) {
      history->consumed.try_emplace(resource);
    }
  }
  status.usage_history = std::move(history);
}

// When the next sample is due. The status stores whole seconds, so that a sample may be due up to
// a second later than the status says.
kube::NextLook LocalQueueReconciler::NextSample(const api::QueueStatus& status) const {
  if (!status.usage_history || !api::IsTrue(status.conditions, api::kActive)) return {};
  const Duration since = parts_.clock.Now() - status.usage_history->last_update;
  return {std::clamp<Duration>(parts_.sampling_interval - since, std::chrono::seconds(1),
                               parts_.sampling_interval)};
}

void LocalQueueReconciler::Reconcile(const api::ObjectKey& key, Done done) {
  const auto queue = parts_.local_queues.Get(key);
  if (queue == nullptr || queue->meta.deletion_timestamp) {
    pace_.Forget(key);
    return done(NextLook{});
  }
  const api::QueueStatus status = StatusOf(*queue);
  parts_.on_local_queue(*queue, status);
  // A queue with a history is reconciled at each sampling interval.
  const NextLook next = NextSample(status);
  if (status == queue->status) return done(next);
  if (status.conditions == queue->status.conditions) {
    const auto wait =
        pace_.Wait(key, CountersOf(status), parts_.clock.SteadyNow(), parts_.commentary_wait);
    if (wait) return done(NextLook{wait});
  }
  pace_.OnWrite(key, parts_.clock.SteadyNow());
  Json json = api::EncodeLocalQueueStatus(status);
  if (parts_.cluster_queues.Get({"", queue->cluster_queue}) == nullptr) {
    json["flavorsReservation"] = nullptr;  // absent, as in Kueue, and not empty
    json["flavorsUsage"] = nullptr;
  }
  if (queue->status.usage_history && status.usage_history) {
    // A merge patch has to name removed keys.
    for (const auto& [resource, amount] : queue->status.usage_history->consumed) {
      if (status.usage_history->consumed.count(resource) > 0) continue;
      json["fairSharing"]["admissionFairSharingStatus"]["consumedResources"][resource] = nullptr;
    }
  }
  WriteStatus(parts_.client, parts_.local_queues, *queue, std::move(json),
              [done, next](const Result<NextLook>& written) {
                done(written ? Result<NextLook>(next) : written);
              });
}

void CohortReconciler::Reconcile(const api::ObjectKey& key, Done done) {
  const auto cohort = cohorts_.Get(key);
  if (cohort == nullptr) {
    pace_.Forget(key);
    return done(NextLook{});
  }
  const std::optional<std::int64_t> share = share_(key.name);
  if (!share || share == cohort->weighted_share) return done(NextLook{});
  const auto wait = pace_.Wait(key, *share, clock_.SteadyNow(), commentary_wait_);
  if (wait) return done(NextLook{wait});
  pace_.OnWrite(key, clock_.SteadyNow());
  WriteStatus(client_, cohorts_, *cohort, {{"fairSharing", {{"weightedShare", *share}}}}, done);
}

}  // namespace berth::admission

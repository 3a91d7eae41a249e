#include "integrations/controller/topology_ungater.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "api/reasons.h"
#include "base/log/log.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

constexpr char kByWorkload[] = "ungater/workload";  // "namespace/name"
constexpr Duration kBatch = std::chrono::milliseconds(100);
constexpr char kGateRemoval[] = "kueue_pod_scheduling_gate_removal_seconds";
constexpr double kLongestBucket = 10240;

// The workload that a pod's annotation names.
std::optional<api::ObjectKey> WorkloadKeyOf(const api::Pod& pod) {
  const std::string* name = api::FindValue(pod.meta.annotations, api::kWorkloadAnnotation);
  if (name == nullptr) return std::nullopt;
  return api::ObjectKey{pod.meta.namespace_name, *name};
}

// The API refuses the patch if the pod has changed: the next reconcile reads the new state.
Json UngatePatch(const Ungating& one) {
  Json gates = Json::array();
  for (const std::string& gate : one.pod->spec.scheduling_gates) {
    if (gate != api::kTopologyGate) gates.push_back({{"name", gate}});
  }
  return {{"metadata",
           {{"uid", one.pod->meta.uid}, {"resourceVersion", one.pod->meta.resource_version}}},
          {"spec", {{"nodeSelector", one.node_labels}, {"schedulingGates", std::move(gates)}}}};
}

// The write may have happened all the same.
bool IsOutcomeUnknown(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kDeadlineExceeded ||
         error.code == ErrorCode::kInternal || error.code == ErrorCode::kConflict;
}

}  // namespace

struct TopologyUngater::Writes {
  api::ObjectKey workload;
  std::vector<Ungating> plan;
  std::size_t next = 0;
  std::size_t in_flight = 0;
  std::optional<Error> error;  // the first error
  Done done;
};

TopologyUngater::TopologyUngater(kube::Manager& manager, const Clock& clock, kube::Metrics* metrics,
                                 std::size_t max_in_flight)
    : manager_(manager),
      clock_(clock),
      metrics_(metrics),
      max_in_flight_(std::max<std::size_t>(max_in_flight, 1)),
      workloads_(manager.InformerFor<api::Workload>()) {
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
    controller_->AddAfter(workload->meta.key(), kBatch);
  };
  workloads_.AddHandler(
      {.on_add = changed,
       .on_update = [changed](const auto&, const auto& workload) { changed(workload); },
       .on_delete = [this](const auto& workload) { unknown_.erase(workload->meta.key()); }});
}

void TopologyUngater::Open() {
  if (pods_ != nullptr) return;
  pods_ = &manager_.InformerFor<api::Pod>();
  pods_->AddIndex(kByWorkload, [](const api::Pod& pod) {
    const auto key = WorkloadKeyOf(pod);
    return key ? std::vector{key->ToString()} : std::vector<std::string>{};
  });
  const auto changed = [this](const auto& pod) { AddWorkloadOf(*pod); };
  pods_->AddHandler({.on_add = changed,
                     .on_update = [changed](const auto&, const auto& pod) { changed(pod); },
                     .on_delete = changed});
}

void TopologyUngater::AddWorkloadOf(const api::Pod& pod) {
  if (const auto key = WorkloadKeyOf(pod)) controller_->AddAfter(*key, kBatch);
}

void TopologyUngater::Reconcile(const api::ObjectKey& key, Done done) {
  const auto unknown = unknown_.find(key);
  if (unknown == unknown_.end()) return LetGo(key, std::move(done));
  ReadBack(key, {unknown->second.begin(), unknown->second.end()}, std::move(done));
}

// Reads one after the other; an error makes the queue retry.
void TopologyUngater::ReadBack(const api::ObjectKey& key, std::vector<api::ObjectKey> pods,
                               Done done) {
  if (pods.empty()) return LetGo(key, std::move(done));
  const api::ObjectKey pod = pods.back();
  pods.pop_back();
  manager_.client().Get(api::KindOf<api::Pod>(), pod,
                        [this, key, pod, pods = std::move(pods),
                         done = std::move(done)](const Result<kube::JsonPtr>& answer) mutable {
                          const bool gone = !answer && answer.error().code == ErrorCode::kNotFound;
                          if (!answer && !gone) return done(answer.error());
                          if (!gone && *answer != nullptr) pods_->Ingest(**answer);
                          if (const auto open = unknown_.find(key); open != unknown_.end()) {
                            open->second.erase(pod);
                            if (open->second.empty()) unknown_.erase(open);
                          }
                          ReadBack(key, std::move(pods), std::move(done));
                        });
}

void TopologyUngater::LetGo(const api::ObjectKey& key, Done done) {
  const auto workload = workloads_.Get(key);
  if (workload == nullptr || pods_ == nullptr) return done(kube::NextLook{});
  if (!pods_->has_synced()) return done(kube::NextLook{kBatch});
  auto writes = std::make_shared<Writes>();
  writes->workload = key;
  writes->plan = PlanUngating(*workload, pods_->ByIndex(kByWorkload, key.ToString()));
  writes->done = std::move(done);
  if (writes->plan.empty()) return writes->done(kube::NextLook{});
  LogDebug("pods let go",
           {{"workload", key.ToString()}, {"count", std::to_string(writes->plan.size())}});
  Next(writes);
}

void TopologyUngater::Next(const std::shared_ptr<Writes>& writes) {
  while (writes->in_flight < max_in_flight_ && writes->next < writes->plan.size()) {
    const Ungating& one = writes->plan[writes->next++];
    ++writes->in_flight;
    const api::ObjectKey pod = one.pod->meta.key();
    manager_.client().Patch(api::KindOf<api::Pod>(), pod, kube::PatchType::kMerge, UngatePatch(one),
                            {}, [this, writes, pod](const Result<kube::JsonPtr>& answer) {
                              OnWritten(writes, pod, answer);
                            });
  }
}

void TopologyUngater::OnWritten(const std::shared_ptr<Writes>& writes, const api::ObjectKey& pod,
                                const Result<kube::JsonPtr>& answer) {
  --writes->in_flight;
  if (answer) {
    if (*answer != nullptr) pods_->Ingest(**answer);
    Observe(writes->workload);
  } else if (answer.error().code != ErrorCode::kNotFound) {
    if (IsOutcomeUnknown(answer.error())) unknown_[writes->workload].insert(pod);
    if (!writes->error) {
      writes->error = Annotate(answer.error(), "letting pod " + pod.ToString() + " go");
    }
  }
  if (writes->next < writes->plan.size()) return Next(writes);
  if (writes->in_flight > 0) return;
  if (!writes->error) return writes->done(kube::NextLook{});
  // A conflict, or no answer: retries on the present state.
  Error error = *writes->error;
  if (error.code == ErrorCode::kConflict) return writes->done(kube::NextLook{kBatch});
  writes->done(std::move(error));
}

}  // namespace berth::integrations

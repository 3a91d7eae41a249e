#include "view/screens/cluster_view.h"

#include <algorithm>

#include "admission/topology/node_inventory.h"
#include "api/labels.h"
#include "api/owner_key.h"
#include "api/reasons.h"
#include "base/strings.h"
#include "provisioning/request_names.h"
#include "view/screens/find_named.h"

namespace berth::view {
namespace {

template <typename T>
const T* FindByKey(const std::vector<T>& objects, const api::ObjectKey& key) {
  const auto found = std::find_if(objects.begin(), objects.end(),
                                  [&](const T& object) { return object.meta.key() == key; });
  return found == objects.end() ? nullptr : &*found;
}

// Whether `b` tells more of an elastic job than `a`: the slice of its present size is the newest
// one that has not ended.
bool IsLaterSlice(const api::Workload& a, const api::Workload& b) {
  const bool a_ended = api::IsTrue(a.status.conditions, api::kFinished);
  const bool b_ended = api::IsTrue(b.status.conditions, api::kFinished);
  if (a_ended != b_ended) return a_ended;
  if (a.meta.creation_timestamp != b.meta.creation_timestamp) {
    return a.meta.creation_timestamp < b.meta.creation_timestamp;
  }
  const std::string* replaced =
      api::FindValue(b.meta.annotations, api::kSliceReplacementForAnnotation);
  return replaced != nullptr && *replaced == a.meta.key().ToString();
}

// The newest request of the Workload that `is_wanted`; null: none.
template <typename IsWanted>
const api::ProvisioningRequest* NewestRequest(const ClusterView& view,
                                              const api::Workload& workload,
                                              const IsWanted& is_wanted) {
  const api::ProvisioningRequest* newest = nullptr;
  for (const api::ProvisioningRequest& request : view.provisioning_requests) {
    if (!api::IsOwnedBy(request.meta, workload.meta) || !is_wanted(request)) continue;
    if (newest == nullptr || newest->meta.creation_timestamp <= request.meta.creation_timestamp) {
      newest = &request;
    }
  }
  return newest;
}

}  // namespace

bool IsKnown(const ClusterView& view, const char* kind) {
  const auto has = [kind](const std::vector<std::string>& kinds) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  };
  return !has(view.hidden) && !has(view.missing);
}

std::vector<std::string> NotSeen(const ClusterView& view) {
  std::vector<std::string> lines;
  if (!view.hidden.empty()) {
    lines.push_back("hidden (no right to list them): " + Join(view.hidden, ", "));
  }
  if (!view.narrowed.empty()) {
    lines.push_back("only of namespace " + view.namespace_name +
                    " (no right to list them in others): " + Join(view.narrowed, ", "));
  }
  if (!view.queues_without_turns.empty()) {
    lines.push_back(
        "places are by priority and time, since the visibility API gives no order of "
        "ClusterQueues: " +
        Join(view.queues_without_turns, ", "));
  }
  return lines;
}

const api::ClusterQueue* FindClusterQueue(const ClusterView& view, const std::string& name) {
  return FindNamed(view.cluster_queues, name);
}

const api::LocalQueue* FindLocalQueue(const ClusterView& view, const api::ObjectKey& key) {
  return FindByKey(view.local_queues, key);
}

const api::Job* FindJob(const ClusterView& view, const api::ObjectKey& key) {
  return FindByKey(view.jobs, key);
}

const NodePoolView* FindNodePool(const ClusterView& view, const std::string& name) {
  const auto found = std::find_if(view.node_pools.begin(), view.node_pools.end(),
                                  [&](const NodePoolView& pool) { return pool.name == name; });
  return found == view.node_pools.end() ? nullptr : &*found;
}

const api::Workload* FindWorkloadOf(const ClusterView& view, const api::Job& job) {
  return FindWorkloadWhere(view, job.meta.namespace_name, [&job](const api::Workload& workload) {
    return api::IsOwnedBy(workload.meta, job.meta);
  });
}

const api::Workload* FindWorkloadWhere(
    const ClusterView& view, const std::string& namespace_name,
    const std::function<bool(const api::Workload& workload)>& belongs) {
  const api::Workload* found = nullptr;
  for (const api::Workload& w : view.workloads) {
    if (w.meta.namespace_name != namespace_name || !belongs(w)) continue;
    if (found == nullptr || IsLaterSlice(*found, w)) found = &w;
  }
  return found;
}

const api::ProvisioningRequest* FindProvisioningRequest(const ClusterView& view,
                                                        const api::Workload& workload) {
  return NewestRequest(view, workload, [](const auto&) { return true; });
}

const api::ProvisioningRequest* FindProvisioningRequest(const ClusterView& view,
                                                        const api::Workload& workload,
                                                        const api::AdmissionCheckState& check) {
  return NewestRequest(view, workload, [&](const api::ProvisioningRequest& request) {
    return provisioning::AttemptOf(request.meta.name, workload.meta.name, check.name).has_value();
  });
}

std::string ClusterQueueOf(const ClusterView& view, const api::Workload& workload) {
  if (workload.status.admission) return workload.status.admission->cluster_queue;
  const api::LocalQueue* queue =
      FindLocalQueue(view, {workload.meta.namespace_name, workload.spec.queue_name});
  return queue == nullptr ? "" : queue->cluster_queue;
}

std::string DisplayName(const api::Workload& workload) {
  const api::OwnerReference* owner = api::ControllerOf(workload.meta);
  return workload.meta.namespace_name + "/" + (owner == nullptr ? workload.meta.name : owner->name);
}

std::string OwnerKind(const api::Workload& workload) {
  const api::OwnerReference* owner = api::ControllerOf(workload.meta);
  return owner == nullptr ? "Workload" : owner->kind;
}

bool IsFinished(const api::Workload& workload) {
  return api::IsTrue(workload.status.conditions, api::kFinished);
}

bool IsRunning(const api::Workload& workload) {
  return !IsFinished(workload) && api::IsTrue(workload.status.conditions, api::kAdmitted) &&
         !api::IsTrue(workload.status.conditions, api::kEvicted);
}

bool IsWaiting(const api::Workload& workload) {
  return !IsFinished(workload) && !IsRunning(workload) && workload.spec.active;
}

bool UsesNodeForEver(const api::Pod& pod) {
  const api::StringMap& labels = pod.meta.labels;
  const api::StringMap& annotations = pod.meta.annotations;
  return admission::UsesNodeUnplanned(pod) && !pod.meta.deletion_timestamp &&
         labels.count(api::kQueueLabel) == 0 && labels.count(api::kJobNameLabel) == 0 &&
         labels.count(api::kPodGroupNameLabel) == 0 &&
         annotations.count(api::kPodGroupNameLabel) == 0 &&
         annotations.count(api::kWorkloadAnnotation) == 0;
}

}  // namespace berth::view

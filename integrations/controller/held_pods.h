// integrations/controller/held_pods.h — what a job that is held by its pods (held_job.h) has in the
// cluster beside its object: pods, and objects that size its pod sets.
//
// The informer holds the pods with the kind's label, not those of the cluster.
//
// Threads: one Executor, that of the manager. Errors: none.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "integrations/controller/job_source.h"
#include "integrations/held_job.h"
#include "integrations/kind_description.h"
#include "kube/runtime/manager.h"

namespace berth::integrations {

// An object of PodHold::groups.
struct HeldGroup {
  api::ObjectMeta meta;
  std::string job;
  std::string text;  // the object, without managedFields
};

class HeldPods {
 public:
  // `kind` has a hold. Construct before the manager's informers start.
  HeldPods(kube::Manager& manager, KindPtr kind);

  // The state of the job whose object is `text`, and whose own facts are `view`.
  std::shared_ptr<const JobState> StateOf(const JobView& view, const std::string& text) const;
  // Calls `changed` with the job of each change of a pod or of a group.
  void OnChange(std::function<void(const api::ObjectKey& job)> changed);
  void Ingest(const kube::Json& pod) { pods_.Ingest(pod); }
  api::ObjectKey JobOf(const QueuedPod& pod) const;  // empty name: the pod is of no job

 private:
  void ReadGroups(const nlohmann::json& object, HeldJob& job,
                  std::vector<std::pair<std::string, api::StringMap>>& labels) const;

  const KindPtr kind_;
  kube::Informer<QueuedPod>& pods_;
  kube::Informer<HeldGroup>* groups_ = nullptr;  // null: no object sizes pod sets
};

}  // namespace berth::integrations

// webhook/controller/facts_mirror.h — the facts for reviews of jobs, kept current by informers.
//
// Threads: built and fed on the manager's Executor; Of may be called from any thread.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "api/object_meta.h"
#include "kube/runtime/manager.h"
#include "webhook/job_rules.h"

namespace berth::webhook {

struct FactsMirrorOptions {
  api::LabelSelector namespace_selector;  // managedJobsNamespaceSelector
  bool manage_without_queue_name = false;
  bool batch_jobs_managed = true;      // integrations.frameworks
  bool default_priority_class = true;  // gate WorkloadPriorityClassDefaulting
  // ReplicaSets are watched, as the links from pods to Deployments that are queued.
  bool replica_sets = false;
  // Labels of pods with the name of a job that is held by its pods.
  std::vector<std::string> pod_labels;
};

class FactsMirror {
 public:
  // Construct before the informers start. Must outlive the manager.
  FactsMirror(kube::Manager& manager, FactsMirrorOptions options);

  // Takes a job of a managed kind, which may own other jobs. `present`: false: the job is gone.
  void TakeJob(const api::ObjectMeta& job, bool present);

  JobFacts Of(const ReviewedKind& kind, const api::ObjectMeta& job) const;

 private:
  void WatchReplicaSets(kube::Manager& manager);
  void TakeOwner(const api::ObjectMeta& owned, bool present);
  bool HasManagedAncestor(const api::ObjectMeta& job) const;
  void TakeHeldJob(const api::ObjectMeta& job, bool present);
  std::string HeldBy(const api::ObjectMeta& pod) const;
  void Set(std::set<std::string>& set, const std::string& value, bool present);

  FactsMirrorOptions options_;
  mutable std::mutex mutex_;  // guards the members below
  std::set<std::string> namespaces_with_default_queue_;
  std::map<std::string, api::StringMap> labels_by_namespace_;
  std::set<std::string> managed_job_uids_;
  // "uid/Workload" of objects that have made a Workload for their pods, which is not on hold.
  std::set<std::string> parents_with_workload_;
  std::map<std::string, std::string> owner_uids_;  // owners of owned jobs and ReplicaSets, by uid
  bool default_priority_class_ = false;
  // The frameworks of jobs that are held by their pods, by namespace and name, then by uid.
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::string>> held_jobs_;
};

}  // namespace berth::webhook

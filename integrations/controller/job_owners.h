// integrations/controller/job_owners.h — the job kinds that are managed here, the Workloads of each
// job, and the ancestors of a job.
//
// Threads: one Executor, that of the manager. Errors: none.
// Source: Kueue pkg/controller/jobframework (FindAncestorJobManagedByKueue).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/workload.h"
#include "integrations/action_plan.h"
#include "integrations/controller/job_source.h"
#include "kube/runtime/manager.h"

namespace berth::integrations {

class JobOwners {
 public:
  // Construct before the manager's informers start.
  JobOwners(kube::Manager& manager, QueueNameRule queue_name_rule);

  // `source` must outlive this object.
  void Add(JobSource& source) { sources_.push_back(&source); }
  // Sets the function that returns false while kinds of owners are being read, so that the
  // ancestors of a job cannot be known yet.
  void SetKnown(std::function<bool()> known) { known_ = std::move(known); }
  bool are_known() const { return !known_ || known_(); }

  // The kind that the reference names, in any of its versions; null: the kind is not managed here.
  JobSource* SourceOf(const api::OwnerReference& owner) const;

  // The Workloads that the job owns (OwningJobOf), or made for its pods (LostParentOf), in the
  // order of their names.
  std::vector<api::Workload> WorkloadsOf(const JobKind& kind, const api::ObjectKey& job) const;
  bool HasWorkload(const JobKind& kind, const api::ObjectKey& job) const;

  // The topmost owner of the job that is managed: an owner with a queue or, where jobs are managed
  // without one, any owner of a managed kind. Owners beyond the tenth are not searched.
  struct Ancestry {
    std::optional<ManagedAncestor> managed;
    bool too_deep = false;  // the search ended at its limit
  };
  Ancestry AncestorOf(const api::ObjectMeta& job) const;

 private:
  kube::Informer<api::Workload>& workloads_;
  QueueNameRule queue_name_rule_;
  std::vector<JobSource*> sources_;
  std::function<bool()> known_;
};

}  // namespace berth::integrations

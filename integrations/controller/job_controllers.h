// integrations/controller/job_controllers.h — the controllers of every known job kind, and the
// ungater of the jobs' pods.
//
//     JobControllers jobs(manager, clock, events, options);   // before the manager starts
//
// Threads: the manager's Executor. Must outlive the manager.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "integrations/controller/batch_jobs.h"
#include "integrations/controller/job_owners.h"
#include "integrations/controller/job_reconciler.h"
#include "integrations/controller/job_tables.h"
#include "integrations/controller/pod_jobs.h"
#include "integrations/controller/slice_ungater.h"
#include "integrations/controller/topology_ungater.h"
#include "integrations/controller/user_kinds.h"
#include "integrations/kind_description.h"

namespace berth::integrations {

struct JobControllersOptions {
  enum class BatchJobs { kManaged, kLeftAlone };  // integrations.frameworks
  BatchJobs batch_jobs = BatchJobs::kManaged;
  // kManaged: all queued pods. kOfParents: the pods of kinds that queue the pods of their objects.
  // kLeftAlone: pods are not jobs.
  enum class Pods { kManaged, kOfParents, kLeftAlone };
  Pods pods = Pods::kLeftAlone;
  std::vector<KindPtr> kinds;  // managed kinds beside batch/v1 Job and pods
  // Frameworks of `kinds` whose jobs are known as owners and reviewed, and not reconciled here.
  std::set<std::string> not_reconciled;
  JobReconcilerOptions job;
  // Reconciles of jobs of one kind under way at once, by "Kind.group", or "Kind" in the core group;
  // 32 for kinds without an entry. The number of "Pod" holds for the ungaters of pods, too.
  std::map<std::string, std::size_t> concurrency;
  bool ungate_topology = true;
  bool ungate_slices = true;  // pods of elastic jobs
  bool user_kinds = true;     // JobKind objects
  // Called when a declared kind begins or ceases to be managed; may be null.
  std::function<void(const JobKind& kind, bool managed)> on_user_kind;
  // See UserKinds::Callbacks::review; may be null.
  std::function<void(const std::string& name, const KindPtr& kind)> on_reviewed_kind;
};

// Selects every namespace but kube-system and the controller's own (Kueue's default).
api::LabelSelector DefaultManagedNamespaces(const std::string& own_namespace);

class JobControllers {
 public:
  JobControllers(kube::Manager& manager, const Clock& clock, kube::EventRecorder& events,
                 JobControllersOptions options);
  ~JobControllers();

  // Calls `handler` for the jobs of all managed kinds but pods, which own no jobs. Call before the
  // manager's informers start.
  void AddHandler(const JobSource::Handler& handler);

  // Manages a kind that a user declares, or changes its description. kInvalid: the kind is one of
  // the built-in ones.
  Status Manage(const KindPtr& kind);
  void Leave(const KindPtr& kind);  // jobs of the kind stay as they are

 private:
  struct Described;

  kube::ControllerOptions ControllerOptionsOf(const JobKind& kind) const;
  Described* Find(const JobKind& kind);
  Described& Add(const KindPtr& kind);
  bool IsServed(const KindPtr& kind);
  bool OwnersAreKnown();

  JobReconciler::Shared shared_;
  JobControllersOptions options_;
  JobOwners owners_;
  JobTables tables_;
  BatchJobs batch_jobs_;
  JobReconciler batch_job_reconciler_;
  std::vector<std::unique_ptr<Described>> described_;
  std::vector<JobSource::Handler> handlers_;
  std::optional<PodJobs> pod_jobs_;
  std::optional<JobReconciler> pod_reconciler_;
  TopologyUngater topology_ungater_;
  SliceUngater slice_ungater_;
  UserKinds user_kinds_;
  bool owners_known_ = false;
  std::optional<SteadyTime> asked_for_owners_;
};

}  // namespace berth::integrations

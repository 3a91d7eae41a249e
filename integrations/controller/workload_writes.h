// integrations/controller/workload_writes.h — the writes to Workloads that a plan of a job asks for
// (job_plan.h), as steps. The informer takes each answer in.
//
// Threads: one, that of the reconciler; steps may end later.
// Errors: of the API, prefixed with what was written. A refused write gives an event, and the
// Workload is read again, so that the next reconcile has a fresh base.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "api/workload.h"
#include "integrations/action_plan.h"
#include "kube/client/api_client.h"
#include "kube/client/informer.h"
#include "kube/runtime/events.h"
#include "kube/runtime/write_steps.h"

namespace berth::integrations {

// A deletion by another client counts as success.
Status OkIfGone(Status status);

class WorkloadWrites {
 public:
  // All outlive the object and its steps.
  WorkloadWrites(kube::ApiClient& client, kube::Informer<api::Workload>& workloads,
                 kube::EventRecorder& events)
      : client_(client), workloads_(workloads), events_(events) {}

  // The Workload as the informer shows it; an empty one: it shows none.
  api::Workload Stored(const api::ObjectKey& key) const;

  // The steps of an action that changes the spec, the metadata or the status of a Workload; none
  // for other actions.
  std::vector<kube::Step> StepsFor(const JobAction& action);
  // `what` names the write in errors.
  kube::Step Patch(const std::string& what, const api::ObjectKey& key, kube::PatchType type,
                   kube::Json patch, kube::WriteOptions options);
  kube::Step RemoveFinalizer(const api::ObjectKey& key);
  kube::Step Delete(const api::ObjectKey& key);

 private:
  std::vector<kube::Step> StatusSteps(const JobAction& action);
  void EndFailed(const api::ObjectKey& key, const Error& error, const std::string& what,
                 std::function<void(Status)> next);

  kube::ApiClient& client_;
  kube::Informer<api::Workload>& workloads_;
  kube::EventRecorder& events_;
};

}  // namespace berth::integrations

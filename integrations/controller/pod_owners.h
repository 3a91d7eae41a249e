// integrations/controller/pod_owners.h — adds pods to the owners of their group's Workload.
//
// A pod that the cache still shows may be gone: the garbage collector would take its reference away
// as often as the reference is added. Each pod is read; further pods follow with the next plan.
//
// Limits: kPodsAtOnce pods a plan (pod_steps.h).
// Threads: one, that of the reconciler; steps may end later.
// Errors: of the API, prefixed with what was read or written.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "api/workload.h"
#include "integrations/action_plan.h"
#include "integrations/controller/job_source.h"
#include "integrations/controller/workload_writes.h"
#include "kube/client/api_client.h"
#include "kube/client/informer.h"
#include "kube/runtime/events.h"
#include "kube/runtime/write_steps.h"

namespace berth::integrations {

class PodOwners {
 public:
  // All outlive the object and its steps.
  struct Context {
    kube::ApiClient& client;
    kube::EventRecorder& events;
    const kube::Informer<api::Workload>& workloads;
    const JobSource& source;
    WorkloadWrites& writes;
  };
  explicit PodOwners(const Context& context)
      : client_(context.client),
        events_(context.events),
        workloads_(context.workloads),
        source_(context.source),
        writes_(context.writes) {}

  kube::Step Add(const AddOwners& action);

 private:
  void Read(const std::shared_ptr<AddOwners>& owners, std::size_t at,
            std::function<void(Status)> next);
  void Write(const AddOwners& action, std::function<void(Status)> next);

  kube::ApiClient& client_;
  kube::EventRecorder& events_;
  const kube::Informer<api::Workload>& workloads_;
  const JobSource& source_;
  WorkloadWrites& writes_;
};

}  // namespace berth::integrations

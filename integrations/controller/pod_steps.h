// integrations/controller/pod_steps.h — performs writes to the pods of a job of bare pods.
//
// Limits: kPodsAtOnce pods at a time.
// Threads: one, that of the reconciler; steps may end later.
// Errors: of the API, prefixed with the pod. A deletion by another client counts as success, and so
// does a write whose result the pod shows.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/result.h"
#include "integrations/controller/job_source.h"
#include "kube/client/api_client.h"
#include "kube/runtime/write_steps.h"

namespace berth::integrations {

inline constexpr std::size_t kPodsAtOnce = 16;

class PodSteps {
 public:
  // Both outlive the object and its steps.
  PodSteps(kube::ApiClient& client, JobSource& source) : client_(client), source_(source) {}

  // One step for all writes: those of one pod follow each other, those of several pods run
  // together. `on_written` is called after each pod's last write; may be null.
  kube::Step All(std::vector<PodWrite> writes, std::function<void()> on_written);

 private:
  kube::Step One(PodWrite write);
  void EndFailed(const PodWrite& write, const Error& error, std::function<void(Status)> next);

  kube::ApiClient& client_;
  JobSource& source_;
};

}  // namespace berth::integrations

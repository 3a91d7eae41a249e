// admission/controller/second_pass.h — makes true what a second pass of scheduling decided: a
// workload that has quota gets its nodes, others in place of failed ones, or is evicted.
//
// A placement that meets a conflict is written again on the newer object, as long as what it rests
// on has not changed. A write that fails for good shows the scheduler the object as it is, and it
// decides again.
//
// Threads: the manager's Executor. Source: Kueue pkg/scheduler (second pass).
#pragma once

#include <functional>
#include <memory>

#include "admission/controller/workload_writer.h"
#include "admission/lifecycle/workload_lifecycle.h"
#include "admission/scheduler.h"
#include "base/clock.h"
#include "kube/client/informer.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"

namespace berth::admission {

struct SecondPassParts {
  kube::Manager& manager;
  Scheduler& scheduler;
  WorkloadWriter& writer;
  kube::EventRecorder& events;
  const Clock& clock;
  // Told of each eviction that was written, for metrics.
  std::function<void(const api::Workload& before, const WorkloadPlan& plan)> on_evicted;
  // The scheduler's picture of the workload may be wrong: read the object, and show it to it.
  std::function<void(const api::ObjectKey& key)> read_back;
};

class SecondPass {
 public:
  explicit SecondPass(SecondPassParts parts);
  SecondPass(const SecondPass&) = delete;
  SecondPass& operator=(const SecondPass&) = delete;

  enum class Progress { kNone, kSome };
  // `decision.second_pass` is set.
  Progress Perform(const Decision& decision);

 private:
  void Place(const Decision& decision);
  void Evict(const Decision& decision);
  void Fail(const api::ObjectKey& key, const Error& error);

  SecondPassParts parts_;
  kube::Informer<api::Workload>& workloads_;
  std::shared_ptr<SecondPass*> self_;
};

// The topology fields of `decided`, pod set by pod set; nothing else of `admission` changes.
void TakePlacement(const api::Admission& decided, api::Admission& admission);

}  // namespace berth::admission

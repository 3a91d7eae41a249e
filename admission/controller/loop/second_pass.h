// admission/controller/loop/second_pass.h — writes the decisions of second passes: a workload with
// quota gets its nodes, gets nodes in place of failed ones, or is evicted.
//
// A placement that meets a conflict is written again on the newer object, as long as no fact that
// the placement rests on has changed. After a write that fails for good the object is read back
// into the scheduler, which decides again.
//
// Threads: the manager's Executor. Source: Kueue pkg/scheduler (second pass).
#pragma once

#include <functional>
#include <memory>

#include "admission/controller/workloads/workload_writer.h"
#include "admission/driver.h"
#include "admission/lifecycle/workload_lifecycle.h"
#include "base/clock.h"
#include "kube/client/informer.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"

namespace berth::admission {

struct SecondPassParts {
  kube::Manager& manager;
  const Driver& driver;
  WorkloadWriter& writer;
  kube::EventRecorder& events;
  const Clock& clock;
  // Called after each eviction that was written, for metrics.
  std::function<void(const api::Workload& before, const WorkloadPlan& plan)> on_evicted;
  // The scheduler's copy of the workload may be stale: reads the object and applies it.
  std::function<void(const api::ObjectKey& key)> read_back;
};

class SecondPass {
 public:
  explicit SecondPass(SecondPassParts parts);
  SecondPass(const SecondPass&) = delete;
  SecondPass& operator=(const SecondPass&) = delete;

  enum class Progress { kNone, kSome };
  // Precondition: the write is of a second pass.
  Progress Perform(const DecidedWrite& write);

 private:
  void Place(const DecidedWrite& decided);
  void Evict(const DecidedWrite& write);
  void Fail(const api::ObjectKey& key, const Error& error);

  SecondPassParts parts_;
  kube::Informer<api::Workload>& workloads_;
  std::shared_ptr<SecondPass*> self_;
};

}  // namespace berth::admission

// cli/controller_set.h — every controller of Berth over one Manager, as a Configuration wants them.
//
//     ControllerSet controllers(manager, clock, events, metrics, configuration);  // before it
//     starts
//
// Threads: the manager's Executor. Everything given must outlive it; destroy it after Manager::Stop
// and while the Executor runs none of its tasks.
#pragma once

#include <memory>

#include "admission/controller/configuration.h"
#include "admission/scheduler.h"
#include "base/clock.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/metrics.h"
#include "webhook/controller/facts_mirror.h"

namespace berth::cli {

class ControllerSet {
 public:
  ControllerSet(kube::Manager& manager, const Clock& clock, kube::EventRecorder& events,
                kube::Metrics& metrics, const admission::Configuration& configuration);
  ~ControllerSet();
  ControllerSet(const ControllerSet&) = delete;
  ControllerSet& operator=(const ControllerSet&) = delete;

  // For the webhooks; what it says may be asked from any thread.
  const webhook::FactsMirror& facts() const;
  // What the deciding core holds, for tests that compare it with the API.
  const admission::Scheduler& scheduler() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::cli

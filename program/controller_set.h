// program/controller_set.h — all controllers of Berth on one Manager, chosen and set up by a
// Configuration.
//
//     ControllerSet controllers(manager, clock, events, metrics, configuration);
//     manager.StartInformers();
//
// Threads: the manager's Executor. All arguments must outlive this object; destroy it after
// Manager::Stop and while the Executor runs none of its tasks.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "admission/controller/configuration/configuration.h"
#include "admission/scheduler.h"
#include "base/clock.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/metrics.h"
#include "program/controller_selection.h"
#include "provisioning/meter.h"
#include "webhook/review.h"

namespace berth::program {

class ControllerSet {
 public:
  // `on_node_time` is called for nodes whose time is measured; it may be null.
  ControllerSet(kube::Manager& manager, const Clock& clock, kube::EventRecorder& events,
                kube::Metrics& metrics, const admission::Configuration& configuration,
                const ControllerSelection& selection = {},
                std::function<void(const provisioning::MeterNote&)> on_node_time = nullptr);
  ~ControllerSet();
  ControllerSet(const ControllerSet&) = delete;
  ControllerSet& operator=(const ControllerSet&) = delete;

  // Returns the reviews for the webhook server. They are valid as long as this object.
  webhook::JobReviews Reviews() const;
  // The scheduler, for tests that compare its state with the API.
  const admission::Scheduler& scheduler() const;
  // Write commentary on Workloads; the functions of the same names in AdmissionControllers.
  Duration TakeCommentary();
  void Annotate(const api::Workload& workload, const std::string& annotation,
                const std::string& value, std::function<void(Status)> done);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::program

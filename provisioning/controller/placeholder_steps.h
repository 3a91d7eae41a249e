// provisioning/controller/placeholder_steps.h — makes and deletes pods that hold nodes
// (placeholders.h).
//
// Threads: one Executor, that of the manager.
// Errors: of the API, prefixed with the action. A refused pod gives an event on the Workload.
#pragma once

#include <functional>
#include <memory>

#include "api/workload.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/write_steps.h"
#include "provisioning/decide.h"

namespace berth::provisioning {

class PlaceholderSteps {
 public:
  // All arguments must outlive the object.
  PlaceholderSteps(kube::Manager& manager, kube::EventRecorder& events)
      : manager_(manager), events_(events) {}

  // A pod of that name that exists is left as it is.
  kube::Step Create(std::shared_ptr<const api::Workload> workload, const CreatePlaceholder& action);
  kube::Step Delete(const std::shared_ptr<const api::Workload>& workload,
                    const DeletePlaceholder& action);

 private:
  kube::Manager& manager_;
  kube::EventRecorder& events_;
};

}  // namespace berth::provisioning

#include "provisioning/controller/provisioning_controllers.h"

#include <utility>

namespace berth::provisioning {

ProvisioningControllers::ProvisioningControllers(kube::Manager& manager, const Clock& clock,
                                                 kube::EventRecorder& events,
                                                 ProvisioningControllersOptions options)
    : requests_(manager, clock, events, options.decide, options.stock),
      checks_(manager, clock),
      meters_(
          manager, clock, requests_.spend(), options.metrics,
          [this](const std::string& queue) { requests_.WakeForBudget(queue); },
          std::move(options.on_node_time)),
      prewarm_(manager, clock, events),
      reactive_(manager, clock, events, options.stock),
      reactive_checks_(manager, clock) {
  // Without the CRD of ProvisioningRequests neither controller starts, and no check becomes active.
  const std::vector<const kube::InformerBase*> needs{
      &manager.OptionalInformerFor<api::ProvisioningRequest>()};
  requests_.Watch(manager.AddController(requests_, {.max_concurrent = options.concurrency}, needs));
  checks_.Watch(manager.AddController(checks_, {}, needs));
  meters_.Watch(manager.AddController(meters_, {}, needs));
  prewarm_.Watch(manager.AddController(prewarm_, {}, needs));
  if (options.metrics != nullptr) capacity_metrics_.emplace(manager, *options.metrics, clock);
  reactive_.Watch(manager.AddController(reactive_, {.max_concurrent = options.concurrency}));
  reactive_checks_.Watch(manager.AddController(reactive_checks_, {}));
}

}  // namespace berth::provisioning

#include "provisioning/controller/provisioning_controllers.h"

namespace berth::provisioning {

ProvisioningControllers::ProvisioningControllers(kube::Manager& manager, const Clock& clock,
                                                 kube::EventRecorder& events,
                                                 ProvisioningControllersOptions options)
    : requests_(manager, clock, events, options.decide), checks_(manager, clock) {
  requests_.Watch(manager.AddController(requests_, {.max_concurrent = options.concurrency}));
  checks_.Watch(manager.AddController(checks_, {}));
}

}  // namespace berth::provisioning

#include "provisioning/controller/provisioning_controllers.h"

#include <utility>

#include "api/reasons.h"
#include "provisioning/controller/active_rules.h"

namespace berth::provisioning {
namespace {

StockKeeperOptions Telling(StockKeeperOptions options,
                           std::function<void(const std::string&, const api::ClassStock&)> tell) {
  options.changed = std::move(tell);
  return options;
}

}  // namespace

ProvisioningControllers::ProvisioningControllers(kube::Manager& manager, const Clock& clock,
                                                 kube::EventRecorder& events,
                                                 ProvisioningControllersOptions options)
    : tell_stock_([this](const std::string& provisioning_class, const api::ClassStock& stock) {
        if (capacity_metrics_) capacity_metrics_->OnStock(provisioning_class, stock);
      }),
      requests_(manager, clock, events, options.decide, Telling(options.stock, tell_stock_)),
      request_checks_(manager, clock, RequestRule(manager)),
      meters_(
          manager, clock, requests_.spend(), options.metrics,
          [this](const std::string& queue) { requests_.WakeForBudget(queue); },
          std::move(options.on_node_time)),
      prewarm_(manager, clock, events),
      reactive_(manager, clock, events, Telling(options.stock, tell_stock_), requests_.spend(),
                [this](const std::string& queue) { requests_.WakeForBudget(queue); }),
      reactive_checks_(manager, clock, ReactiveRule(manager)) {
  const auto ended = [](const api::Workload& workload) {
    return api::IsTrue(workload.status.conditions, api::kFinished);
  };
  manager.InformerFor<api::Workload>().AddHandler(
      {.on_add =
           [this, ended](const auto& workload) {
             if (ended(*workload)) runs_.Add(*workload);
           },
       .on_update =
           [this, ended](const auto& before, const auto& now) {
             if (!ended(*before) && ended(*now)) runs_.Add(*now);
           }});
  requests_.UseHistory(&runs_);
  reactive_.UseHistory(&runs_);
  requests_.ShareBudget([this](const std::string& queue) { reactive_.WakeForBudget(queue); });
  // Without the CRD of ProvisioningRequests neither controller starts, and no check becomes active.
  const std::vector<const kube::InformerBase*> needs{
      &manager.OptionalInformerFor<api::ProvisioningRequest>()};
  requests_.Watch(manager.AddController(requests_, {.max_concurrent = options.concurrency}, needs));
  request_checks_.Watch(manager.AddController(request_checks_, {}, needs));
  meters_.Watch(manager.AddController(meters_, {}, needs));
  prewarm_.Watch(manager.AddController(prewarm_, {}, needs));
  if (options.metrics != nullptr) {
    capacity_metrics_.emplace(manager, *options.metrics, clock);
    requests_.OnLeases([this](std::size_t nodes) { capacity_metrics_->OnLeases(nodes); });
  }
  reactive_.Watch(manager.AddController(reactive_, {.max_concurrent = options.concurrency}));
  reactive_checks_.Watch(manager.AddController(reactive_checks_, {}));
}

}  // namespace berth::provisioning

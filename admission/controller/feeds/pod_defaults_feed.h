// admission/controller/feeds/pod_defaults_feed.h — shows LimitRanges, RuntimeClasses,
// ResourceClaimTemplates and the devices of the cluster to the scheduler; waiting workloads that a
// change concerns are reconciled.
//
// Threads: one Executor.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "admission/scheduler.h"
#include "base/clock.h"
#include "kube/runtime/manager.h"

namespace berth::admission {

class PodDefaultsFeed {
 public:
  struct Told {
    std::function<void(const api::ObjectKey&)> workload;  // reconciles the workload
    std::function<void()> scheduler;                      // runs a cycle: some head may move
  };

  PodDefaultsFeed(kube::Manager& manager, Scheduler& scheduler, const Clock& clock, Told told);

  // Call before the informers start.
  void Connect();

 private:
  void ConnectClaims();
  void ConnectDevices();
  void OnDevices(bool resources);
  // Adds `name` to `changed`; the changes of one instant cost one walk over the workloads.
  void LookAgain(std::set<std::string>& changed, const std::string& name);
  void LookAgain();
  void Walk();
  bool IsConcerned(const api::Workload& workload) const;

  kube::Manager& manager_;
  Scheduler& scheduler_;
  const Clock& clock_;
  Told told_;
  std::set<std::string> namespaces_;           // their LimitRanges changed
  std::set<std::string> claiming_namespaces_;  // their ResourceClaimTemplates changed
  bool devices_changed_ = false;               // devices or DeviceClasses changed
  bool served_resources_changed_ = false;      // extended resources that devices serve
  std::set<std::string> runtime_classes_;      // the RuntimeClasses that changed
  bool posted_ = false;
  std::shared_ptr<PodDefaultsFeed*> self_ = std::make_shared<PodDefaultsFeed*>(this);
};

}  // namespace berth::admission

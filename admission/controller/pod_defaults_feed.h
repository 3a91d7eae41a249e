// admission/controller/pod_defaults_feed.h — LimitRanges and RuntimeClasses into the scheduler; the
// workloads that wait and are concerned by a change are looked at anew.
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
    std::function<void(const api::ObjectKey&)> workload;  // looked at anew
    std::function<void()> scheduler;                      // some head may move
  };

  PodDefaultsFeed(kube::Manager& manager, Scheduler& scheduler, const Clock& clock, Told told);

  // Before the informers start.
  void Connect();

 private:
  // Puts the name among the changed ones; many of one instant cost one walk over the workloads.
  void LookAgain(std::set<std::string>& changed, const std::string& name);
  void Walk();
  bool IsConcerned(const api::Workload& workload) const;

  kube::Manager& manager_;
  Scheduler& scheduler_;
  const Clock& clock_;
  Told told_;
  std::set<std::string> namespaces_;       // whose LimitRanges have changed
  std::set<std::string> runtime_classes_;  // that have changed
  bool posted_ = false;
  std::shared_ptr<PodDefaultsFeed*> self_ = std::make_shared<PodDefaultsFeed*>(this);
};

}  // namespace berth::admission

// program/deadline_watch.h — reports deadlines in danger: with an event of the Workload, while
// somebody can still act, and with a gauge of each ClusterQueue.
//
// Threads: those of EventRecorder and Metrics; one thread calls Show. The arguments of the
// constructor must outlive the object. Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "api/workload.h"
#include "kube/runtime/events.h"
#include "kube/runtime/metrics.h"

namespace berth::program {

class DeadlineWatch {
 public:
  DeadlineWatch(kube::EventRecorder& events, kube::Metrics& metrics)
      : events_(events), metrics_(metrics) {}

  // Call it when the deadline has come into danger. The Workload ends in time in `in_time` of 100
  // futures.
  void Tell(const api::Workload& workload, std::int32_t in_time);
  // Sets the gauges. `endangered`: the number of waiting Workloads whose deadlines are in danger,
  // by ClusterQueue.
  void Show(const std::map<std::string, std::int64_t>& endangered);

 private:
  kube::EventRecorder& events_;
  kube::Metrics& metrics_;
  std::set<std::string> shown_;  // ClusterQueues
};

}  // namespace berth::program

// admission/workloads/pod_defaults.h — the defaults that the cluster adds to a workload's pods, so
// that quota counts the pods' final requests; and the reasons for which the cluster would refuse
// the pods.
//
//     limits where requests are missing, then the namespace's LimitRanges, and the overhead of the
//     RuntimeClass
//
// Threads: one. Errors: none.
// Source: Kueue pkg/workload (effective resources, ValidateResources, ValidateLimitRange),
// pkg/util/limitrange; Kubernetes' LimitRanger and RuntimeClass admission.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "api/limits.h"
#include "api/workload.h"

namespace berth::admission {

class PodDefaults {
 public:
  void Set(const api::LimitRange& range);
  void Set(const api::RuntimeClass& runtime_class);
  void RemoveLimitRange(const api::ObjectKey& key);
  void RemoveRuntimeClass(const std::string& name) { overheads_.erase(name); }

  // The workload with the defaults of its pods; the same pointer where there are none to add.
  std::shared_ptr<const api::Workload> Completed(
      std::shared_ptr<const api::Workload> workload) const;

  // The reason to refuse pods of the workload, in Kueue's words; empty: the pods are accepted.
  std::string Problem(const api::Workload& workload) const;

 private:
  // All LimitRanges of a namespace, and their combination.
  struct Limits {
    std::map<std::string, api::LimitRange> ranges;       // by name
    std::map<std::string, api::LimitRangeItem> by_type;  // the lowest max, the highest min, …
  };

  static void Summarize(Limits& limits);
  const Limits* LimitsOf(const std::string& namespace_name) const;

  std::map<std::string, Limits> limits_;                   // by namespace
  std::map<std::string, api::ResourceAmounts> overheads_;  // by RuntimeClass
};

}  // namespace berth::admission

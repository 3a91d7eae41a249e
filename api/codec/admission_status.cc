#include "api/codec/admission_status.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/pods_ready.h"
#include "api/reasons.h"

namespace berth::api {

nlohmann::json AdmissionStatusPatch(const Workload& base, const WorkloadStatus& status) {
  WorkloadStatus owned = status;
  owned.reclaimable_pods.clear();
  std::erase_if(owned.conditions, [](const Condition& condition) {
    if (condition.type == kPodsReady) return !SaysPodsNotStarted(condition);
    return condition.type == kFinished;
  });
  return StatusPatch(base, Encode(owned));
}

nlohmann::json StatusPatch(const Workload& base, nlohmann::json status) {
  const ResourceKind& kind = KindOf<Workload>();
  return {{"apiVersion", kind.api_version()},
          {"kind", kind.kind},
          {"metadata",
           {{"name", base.meta.name},
            {"namespace", base.meta.namespace_name},
            {"uid", base.meta.uid},
            {"resourceVersion", base.meta.resource_version}}},
          {"status", std::move(status)}};
}

}  // namespace berth::api

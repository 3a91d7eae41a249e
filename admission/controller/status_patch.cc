#include "admission/controller/status_patch.h"

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/reasons.h"

namespace berth::admission {

nlohmann::json AdmissionStatusPatch(const api::Workload& base, const api::WorkloadStatus& status) {
  api::WorkloadStatus owned = status;
  owned.reclaimable_pods.clear();
  std::erase_if(owned.conditions, [](const api::Condition& condition) {
    return condition.type == api::kPodsReady || condition.type == api::kFinished;
  });
  const api::ResourceKind& kind = api::KindOf<api::Workload>();
  return {{"apiVersion", kind.api_version()},
          {"kind", kind.kind},
          {"metadata",
           {{"name", base.meta.name},
            {"namespace", base.meta.namespace_name},
            {"uid", base.meta.uid},
            {"resourceVersion", base.meta.resource_version}}},
          {"status", api::Encode(owned)}};
}

}  // namespace berth::admission

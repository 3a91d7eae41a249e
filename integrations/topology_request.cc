#include "integrations/topology_request.h"

#include <string>

#include "api/labels.h"
#include "base/strings.h"

namespace berth::integrations {

std::optional<api::TopologyRequest> TopologyRequestOf(const api::StringMap& annotations) {
  const auto value = [&annotations](const char* key) { return api::FindValue(annotations, key); };
  api::TopologyRequest request;
  bool asked = false;
  if (const std::string* level = value(api::kRequiredTopologyAnnotation)) {
    request.required = *level;
    asked = true;
  } else if (const std::string* wish = value(api::kPreferredTopologyAnnotation)) {
    request.preferred = *wish;
    asked = true;
  } else if (const std::string* any = value(api::kUnconstrainedTopologyAnnotation)) {
    request.unconstrained = *any == "true";
    asked = request.unconstrained;
  }
  if (const std::string* level = value(api::kSliceRequiredTopologyAnnotation)) {
    request.slice_required_topology = *level;
    asked = true;
  }
  if (const std::string* size = value(api::kSliceSizeAnnotation)) {
    const std::optional<std::int64_t> pods = ParseInt64(*size);
    if (pods && *pods > 0 && *pods <= INT32_MAX) {
      request.slice_size = static_cast<std::int32_t>(*pods);
    }
  }
  if (const std::string* group = value(api::kPodSetGroupNameAnnotation)) {
    request.pod_set_group_name = *group;
  }
  if (!asked) return std::nullopt;
  return request;
}

}  // namespace berth::integrations

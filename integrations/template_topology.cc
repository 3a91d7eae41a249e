#include "integrations/template_topology.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "api/codec/slice_constraints.h"
#include "api/labels.h"
#include "base/strings.h"

namespace berth::integrations {
namespace {

// The values that Go's strconv.ParseBool reads as true.
bool IsTrueWord(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTrue{"1", "t", "T", "true", "TRUE", "True"};
  return std::find(kTrue.begin(), kTrue.end(), text) != kTrue.end();
}

// Returns true if the annotations request slices.
bool ReadSlices(const api::StringMap& annotations, api::TopologyRequest& request) {
  bool asked = false;
  if (const std::string* level =
          api::FindValue(annotations, api::kSliceRequiredTopologyAnnotation)) {
    request.slice_required_topology = *level;
    asked = true;
  }
  if (const std::string* size = api::FindValue(annotations, api::kSliceSizeAnnotation)) {
    const std::optional<std::int64_t> pods = ParseInt64(*size);
    if (pods && *pods > 0 && *pods <= INT32_MAX) {
      request.slice_size = static_cast<std::int32_t>(*pods);
    }
  }
  if (const std::string* text = api::FindValue(annotations, api::kSliceConstraintsAnnotation)) {
    if (auto layers = api::ParseSliceConstraints(*text); layers && !layers->empty()) {
      request.slice_constraints = *std::move(layers);
      asked = true;
    }
  }
  return asked;
}

}  // namespace

std::optional<api::TopologyRequest> TopologyRequestOf(const api::StringMap& annotations) {
  const auto value = [&annotations](const char* key) { return api::FindValue(annotations, key); };
  api::TopologyRequest request;
  bool asked = ReadSlices(annotations, request);
  if (const std::string* level = value(api::kRequiredTopologyAnnotation)) {
    request.required = *level;
    asked = true;
  } else if (const std::string* wish = value(api::kPreferredTopologyAnnotation)) {
    request.preferred = *wish;
    asked = true;
  } else if (const std::string* any = value(api::kUnconstrainedTopologyAnnotation)) {
    request.unconstrained = IsTrueWord(*any);
    asked = asked || request.unconstrained;
  }
  if (const std::string* group = value(api::kPodSetGroupNameAnnotation)) {
    request.pod_set_group_name = *group;
  }
  if (!asked) return std::nullopt;
  return request;
}

}  // namespace berth::integrations

// local/apiserver/registry/autoscaler_versions.h — the two forms of HorizontalPodAutoscalers.
//
// autoscaling/v1 has one metric, the utilization of cpu; its other metrics, the behavior and the
// conditions stand in annotations. Stored objects are autoscaling/v2.
//
// Pure. Annotations that cannot be read count as absent. Source: Kubernetes 1.36
// pkg/apis/autoscaling, restated; the annotation of the behavior has the names of v2.
#pragma once

#include "local/apiserver/api.h"

namespace berth::local {

inline constexpr const char* kAutoscalers = "horizontalpodautoscalers.autoscaling";
inline constexpr const char* kAutoscalerStoredVersion = "autoscaling/v2";

// Converts `autoscaler` to "autoscaling/v1" or "autoscaling/v2".
void ConvertAutoscaler(Json& autoscaler, const std::string& api_version);

}  // namespace berth::local

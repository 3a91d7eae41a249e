// api/topology_annotations.h — the annotations by which a pod template asks for a topology.
//
// Threads: pure function. Errors: none. Source: Kueue, topology-aware scheduling.
#pragma once

#include <algorithm>
#include <array>

#include "api/labels.h"
#include "api/object_meta.h"

namespace berth::api {

inline constexpr std::array kTopologyRequestAnnotations{
    kRequiredTopologyAnnotation, kPreferredTopologyAnnotation, kUnconstrainedTopologyAnnotation,
    kSliceRequiredTopologyAnnotation, kSliceConstraintsAnnotation};

inline bool AsksForTopology(const StringMap& annotations) {
  return std::any_of(kTopologyRequestAnnotations.begin(), kTopologyRequestAnnotations.end(),
                     [&](const char* each) { return annotations.contains(each); });
}

}  // namespace berth::api

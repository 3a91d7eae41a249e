// api/topology_annotations.h — whether a pod template, by its annotations, or a pod set of a
// Workload asks for a topology.
//
// Threads: pure functions. Errors: none. Source: Kueue, topology-aware scheduling.
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "api/labels.h"
#include "api/object_meta.h"
#include "api/workload.h"

namespace berth::api {

inline constexpr std::array kTopologyRequestAnnotations{
    kRequiredTopologyAnnotation, kPreferredTopologyAnnotation, kUnconstrainedTopologyAnnotation,
    kSliceRequiredTopologyAnnotation, kSliceConstraintsAnnotation};

inline bool AsksForTopology(const StringMap& annotations) {
  return std::any_of(kTopologyRequestAnnotations.begin(), kTopologyRequestAnnotations.end(),
                     [&](const char* each) { return annotations.contains(each); });
}

// The labels with the pods' indexes alone ask for nothing: they say in which order the pods are
// placed where the queue places all pods.
inline bool AsksForTopology(const PodSet& pod_set) {
  const std::optional<TopologyRequest>& request = pod_set.topology_request;
  return request && (request->required || request->preferred || request->unconstrained ||
                     request->slice_required_topology || request->slice_size ||
                     !request->slice_constraints.empty());
}

}  // namespace berth::api

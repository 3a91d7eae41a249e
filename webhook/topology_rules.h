// webhook/topology_rules.h — validates the topology annotations of a pod template.
//
// Source: Kueue KEP-2724, pkg/controller/jobframework/tas_validation.go; the texts are Kueue's.
#pragma once

#include <cstdint>
#include <vector>

#include "api/object_meta.h"
#include "webhook/review_error.h"

namespace berth::webhook {

// `path`: the path of the annotations; `pods`: the count of the pod set.
FieldErrors ValidateTopologyAnnotations(const Path& path, const api::StringMap& annotations,
                                        std::int64_t pods);

struct GroupedPodSet {
  Path path;  // the path to the annotations
  const api::StringMap& annotations;
  std::int64_t pods;
};

// The pod sets of one job: exactly two of them name one group, one of the two has one pod, and both
// have equal requests.
FieldErrors ValidatePodSetGroups(const std::vector<GroupedPodSet>& pod_sets);

}  // namespace berth::webhook

// webhook/topology_rules.h — validates the topology annotations of a pod template.
//
// Source: Kueue KEP-2724, pkg/controller/jobframework/tas_validation.go; the texts are Kueue's.
#pragma once

#include <cstdint>

#include "api/object_meta.h"
#include "webhook/field_error.h"

namespace berth::webhook {

// `path`: of the annotations; `pods`: the count of the pod set.
FieldErrors ValidateTopologyAnnotations(const Path& path, const api::StringMap& annotations,
                                        std::int64_t pods);

}  // namespace berth::webhook

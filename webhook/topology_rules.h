// webhook/topology_rules.h — what the topology annotations of a pod template may say together.
//
// Source: Kueue KEP-2724, pkg/controller/jobframework/tas_validation.go; the texts are its own.
#pragma once

#include <cstdint>

#include "api/object_meta.h"
#include "webhook/field_error.h"

namespace berth::webhook {

// `path`: of the annotations; `pods`: how many the pod set has.
FieldErrors ValidateTopologyAnnotations(const Path& path, const api::StringMap& annotations,
                                        std::int64_t pods);

}  // namespace berth::webhook

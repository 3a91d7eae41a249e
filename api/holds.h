// api/holds.h — what keeps a Workload out of the queue by its owner's wish: the gates of admission
// (annotation kueue.x-k8s.io/admission-gated-by), and an object that wants no pods at present.
#pragma once

#include <string>
#include <vector>

#include "api/object_meta.h"
#include "api/workload.h"

namespace berth::api {

// The names in the annotation of a job or of a Workload, trimmed, in their order. An empty name is
// kept: a review refuses it. Without the annotation: none.
std::vector<std::string> AdmissionGatesOf(const ObjectMeta& meta);
// Whether the annotation holds the Workload back.
bool IsGated(const Workload& workload);

// Whether the Workload waits because its owner wants no pods: QuotaReserved is False with the
// reason OnHold.
bool IsOnHold(const Workload& workload);

}  // namespace berth::api

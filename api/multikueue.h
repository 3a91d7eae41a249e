// api/multikueue.h — the name by which MultiKueue, which runs jobs in other clusters, is known: in
// a job's field managedBy, and in spec.controllerName of its AdmissionChecks. Berth has no
// controller of that name.
#pragma once

namespace berth::api {

inline constexpr char kMultiKueueController[] = "kueue.x-k8s.io/multikueue";

}  // namespace berth::api

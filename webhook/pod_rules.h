// webhook/pod_rules.h — reviews of pods that are queued themselves.
//
//     CREATE: label managed, finalizer, gate of admission, annotation role-hash; with topologies
//             the index label and the gate of topology
//
// A pod of a parent that queues its pods (annotation pod-suspending-parent) is gated alone: its
// parent's controller does the rest. A pod whose labels name such a parent gets the annotation.
//
// Threads: pure functions. Source: Kueue pkg/controller/jobs/pod/pod_webhook.go; the texts are
// Kueue's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "webhook/job_rules.h"

namespace berth::webhook {

// The hash of a pod's spec (integrations/pods/role_hash.h).
using RoleHashOf = std::function<std::string(const nlohmann::json& spec)>;

// kOfParents: pods that no parent queues are left as they are.
enum class ReviewedPods { kAll, kOfParents };

ReviewedKind PodKind(RoleHashOf role_hash, ReviewedPods which = ReviewedPods::kAll);

}  // namespace berth::webhook

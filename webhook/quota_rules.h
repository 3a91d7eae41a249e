// webhook/quota_rules.h — validates ClusterQueues, Cohorts and ResourceFlavors.
//
// Has Kueue's webhook rules, and the CRDs' CEL rules that involve several fields, so that an API
// server that does not evaluate CEL refuses the same objects.
//
// Source: Kueue pkg/webhooks (clusterqueue, cohort, resourceflavor).
#pragma once

#include "api/queues.h"
#include "webhook/review_error.h"

namespace berth::webhook {

// `old`: the object before an update, or null on create. An invalid field that the update does not
// change is accepted where Kueue accepts it.
FieldErrors ValidateClusterQueue(const api::ClusterQueue& queue, const api::ClusterQueue* old);
FieldErrors ValidateCohort(const api::Cohort& cohort);
FieldErrors ValidateResourceFlavor(const api::ResourceFlavor& flavor,
                                   const api::ResourceFlavor* old);

// Validates the tolerations that a flavor or an admission check adds to pods.
FieldErrors ValidateTolerations(const std::vector<api::Toleration>& tolerations, const Path& path);

}  // namespace berth::webhook

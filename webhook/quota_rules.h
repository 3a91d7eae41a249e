// webhook/quota_rules.h — what may stand in ClusterQueue, Cohort and ResourceFlavor.
//
// Checked here: Kueue's webhook rules, and the CRDs' rules in CEL that reach over several fields,
// so that an API server that does not evaluate CEL refuses the same objects.
//
// Source: Kueue pkg/webhooks (clusterqueue, cohort, resourceflavor).
#pragma once

#include "api/queues.h"
#include "webhook/field_error.h"

namespace berth::webhook {

// `old`: the object before an update, or null on create; what was wrong there and has not changed
// is not held against the update where Kueue does not.
FieldErrors ValidateClusterQueue(const api::ClusterQueue& queue, const api::ClusterQueue* old);
FieldErrors ValidateCohort(const api::Cohort& cohort);
FieldErrors ValidateResourceFlavor(const api::ResourceFlavor& flavor,
                                   const api::ResourceFlavor* old);

// Tolerations as a flavor or an admission check gives them to pods.
FieldErrors ValidateTolerations(const std::vector<api::Toleration>& tolerations, const Path& path);

}  // namespace berth::webhook

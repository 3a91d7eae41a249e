// local/cluster/replicas/rollout_numbers.h — the numbers of a rolling update: the surge, the number
// of unavailable pods, and the revisions and sizes in annotations of ReplicaSets.
//
// Pure.
#pragma once

#include <cstdint>
#include <string>

#include "local/apiserver/api.h"

namespace berth::local::cluster {

inline constexpr char kDesiredReplicas[] = "deployment.kubernetes.io/desired-replicas";
inline constexpr char kMaxReplicas[] = "deployment.kubernetes.io/max-replicas";
inline constexpr char kRevisionHistory[] = "deployment.kubernetes.io/revision-history";

// An int-or-string: a number, or a percentage of `total`; 0 for anything else.
enum class Rounding { kUp, kDown };
std::int64_t ScaledAmount(const Json& value, std::int64_t total, Rounding rounding);

std::int64_t WantedReplicas(const Json& object);  // spec.replicas
bool IsRollingUpdate(const Json& deployment);
std::int64_t MaxSurge(const Json& deployment);        // 0 for Recreate
std::int64_t MaxUnavailable(const Json& deployment);  // 0 for Recreate
std::int64_t RevisionOf(const Json& object);          // 0: none

// The change of the replicas of `set`, in proportion to its size, when a Deployment is scaled
// during a rollout. The result is between 0 and `left`, which may be negative.
std::int64_t ProportionalChange(const Json& set, const Json& deployment, std::int64_t left);

}  // namespace berth::local::cluster

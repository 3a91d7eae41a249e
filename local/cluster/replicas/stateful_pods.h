// local/cluster/replicas/stateful_pods.h — the pods of a StatefulSet: names, labels, hostnames, and
// the claims of their volumes.
//
// Pure. Source: Kubernetes "StatefulSets", stateful set utilities, restated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "local/apiserver/api.h"

namespace berth::local::cluster {

// The number at the end of a name of the form SET-NUMBER; nullopt: a pod of another set.
std::optional<std::int64_t> OrdinalOf(std::string_view pod_name, std::string_view set_name);

std::int64_t FirstOrdinal(const Json& set);  // spec.ordinals.start

// The pod of `ordinal` with `pod_template`; `revision`: the name of its ControllerRevision.
Json MakeStatefulPod(const Json& set, const Json& pod_template, std::int64_t ordinal,
                     const std::string& revision);

// Returns `pod` with the labels of its identity; nullopt: the pod has them already.
std::optional<Json> WithIdentity(const Json& set, const Json& pod);

// The PersistentVolumeClaims of the pod of `ordinal`, with their owners.
std::vector<Json> ClaimsOf(const Json& set, std::int64_t ordinal);
bool HasClaims(const Json& set);

// The owners that the claim must have by persistentVolumeClaimRetentionPolicy; nullopt: the claim
// has them already. `pod`: the pod of the claim; null: there is none. `condemned`: the pod is above
// the wanted size.
std::optional<Json> ClaimOwners(const Json& set, const Json& claim, const Json* pod,
                                bool condemned);

}  // namespace berth::local::cluster

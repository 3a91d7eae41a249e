// program/component_reviews.h — the reviews of `berth up` that are not in manifests/webhook. They
// belong to the components that a cluster would install for the frameworks of its Configuration.
//
//     pods     pods and pod groups, and the pods of the kinds of `serving`
//     serving  Deployments, StatefulSets, LeaderWorkerSets
//     dask     the pods of Dask's operator
//
// A framework that is not named costs nothing: its reviews are not registered.
//
// Threads: pure function. Errors: kInternal, a manifest of this program is broken.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace berth::program {

// Appends to a webhook configuration of manifests/webhook the entries that `frameworks`
// (integrations.frameworks) need. Other objects stay as they are.
Status AddComponentReviews(const std::vector<std::string>& frameworks, nlohmann::json& object);

}  // namespace berth::program

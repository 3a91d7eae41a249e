// cli/embedded_manifests.h — the manifests that `berth up` applies by itself: the same files that a
// real cluster gets, made part of the program by CMake.
#pragma once

#include <string_view>

namespace berth::cli {

// YAML streams, in the order in which they must be applied.
std::string_view CrdManifests();      // manifests/crds
std::string_view CloudManifests();    // manifests/cloud: one CRD
std::string_view ClusterManifests();  // namespace kueue-system
std::string_view WebhookManifests();  // manifests/webhook

}  // namespace berth::cli

// cli/embedded_manifests.h — the manifests that `berth up` applies: the files for a real cluster,
// which CMake embeds in the program.
#pragma once

#include <string_view>

namespace berth::cli {

// YAML streams, in the order of application.
std::string_view CrdManifests();      // manifests/crds
std::string_view CloudManifests();    // manifests/cloud: one CRD
std::string_view ClusterManifests();  // namespace kueue-system
std::string_view WebhookManifests();  // manifests/webhook

}  // namespace berth::cli

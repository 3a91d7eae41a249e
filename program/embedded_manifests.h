// program/embedded_manifests.h — the manifests that `berth up` applies: the files for a real
// cluster, which CMake embeds in the program.
#pragma once

#include <string_view>

namespace berth::program {

// YAML streams, in the order of application.
std::string_view CrdManifests();      // manifests/crds
std::string_view CloudManifests();    // manifests/cloud: one CRD
std::string_view ClusterManifests();  // namespace kueue-system
std::string_view WebhookManifests();  // manifests/webhook
std::string_view SampleManifests();   // manifests/samples/first

// The reviews that a component adds to those of manifests/webhook: JSON patches, written as YAML
// lists. An empty text stands for no reviews.
struct ComponentReviews {
  std::string_view mutating;
  std::string_view validating;
};
ComponentReviews PodReviews();      // manifests/components/pods
ComponentReviews ServingReviews();  // manifests/components/serving
ComponentReviews DaskReviews();     // manifests/components/dask

}  // namespace berth::program

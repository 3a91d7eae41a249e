// view/screens/setup_manifests.h — the manifests of a first set-up (`berth init`), with a comment
// at each line that is a decision.
//
//     FirstSetup ──▶ flavors, namespaces, capacity, ClusterQueues, LocalQueues
//           └─▶ a sample Job of the first team
//
// Equal input gives equal bytes. Threads: pure functions. Errors: none.
// Source: Kueue's API kueue.x-k8s.io/v1beta2; docs/guide/queues.md, docs/guide/pending-pods.md.
#pragma once

#include <string>

#include "view/screens/setup_options.h"

namespace berth::view {

inline constexpr char kSampleJobName[] = "sample";

// YAML of several documents each; one may be put behind the other with a line "---" between them.
struct SetupManifests {
  std::string queues;
  std::string job;
};

SetupManifests ManifestsOf(const FirstSetup& setup);

}  // namespace berth::view

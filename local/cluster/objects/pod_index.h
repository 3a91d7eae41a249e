// local/cluster/objects/pod_index.h — the index of pods that have not ended: kUnfinishedIndex,
// under "yes".
#pragma once

#include "local/cluster/objects/fields.h"
#include "local/cluster/objects/object_cache.h"
#include "local/cluster/objects/resource_ids.h"

namespace berth::local::cluster {

// Call before the cache tracks pods.
inline void IndexUnfinishedPods(ObjectCache& cache) {
  cache.AddIndex(kPods, kUnfinishedIndex, [](const Json& pod) -> std::vector<std::string> {
    if (HasEnded(pod)) return {};
    return {"yes"};
  });
}

}  // namespace berth::local::cluster

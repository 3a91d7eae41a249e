// cli/manifest_queues.h — the queues of manifests, as `berth simulate` and `berth tune` read them.
//
// Threads: pure functions, but for reading the files again for the places of an error.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "simulation/cluster_objects.h"

namespace berth::cli {

// Reads the cluster of documents that come from `files`. Errors: kInvalid with a line for each
// object that cannot be read, with the object's place; else the error of all documents together.
Result<simulation::Cluster> ReadManifestQueues(const std::vector<nlohmann::json>& documents,
                                               const std::vector<std::string>& files);

}  // namespace berth::cli

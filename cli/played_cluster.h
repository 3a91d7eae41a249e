// cli/played_cluster.h — the objects that `berth simulate --full` plays, of a cluster or of
// manifests.
//
//     API ──lists of twelve kinds──▶ objects with kind and version ─┐
//     manifests, `kubectl get -o json` ─────────────────────────────┴─▶ queues | machines | pools
//
// Left out: objects that are being deleted, and Nodes that the emulated cloud has made for one of
// the NodePools, which makes them again. Workloads, Jobs and pods take no part.
//
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "view/session.h"

namespace berth::cli {

struct PlayedCluster {
  std::vector<nlohmann::json> queues;    // queues and all other objects: flavors, checks, policies
  std::vector<nlohmann::json> machines;  // Topologies and Nodes
  std::vector<nlohmann::json> node_pools;  // the pools of the emulated cloud
};

// Lists are taken apart. Pure; no errors.
PlayedCluster SplitPlayed(const std::vector<nlohmann::json>& documents);

// Errors: as Session. A kind that the cluster lacks has no objects; kForbidden names the kind that
// the caller may not list. Threads: as Session.
Result<PlayedCluster> ReadPlayedCluster(view::Session& session);

}  // namespace berth::cli

// program/caller_topology.h — the nodes of a cluster by their domains, for a caller of the read
// API.
//
//     MirrorObjects: nodes, pods, Workloads ─┐
//     the API server: may the caller list ───┴▶ TopologyJson ─▶ JSON
//         nodes and pods? Topologies
//
// The right to list a kind is shown by a list of one object with the caller's credentials. While
// the mirror has no pods, pods are read with the caller's rights, of at most 1,000 nodes.
//
// Threads: as Session. Errors: those of the API server about nodes.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/clock.h"
#include "base/result.h"
#include "program/read_mirror.h"
#include "readapi/caller.h"
#include "view/session.h"

namespace berth::program {

// The form of view::TopologyJson. `request` is of the kind kTopology.
Result<nlohmann::json> CallerTopology(view::Session& session, const readapi::CallerRequest& request,
                                      const MirrorObjects& objects, WallTime now);

// Ok: the caller may list the objects of `path`, such as "/api/v1/nodes". Errors: those of the API
// server.
Status MayList(view::Session& session, const std::string& path);

}  // namespace berth::program

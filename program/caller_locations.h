// program/caller_locations.h — where running Workloads run, for a caller of the read API.
//
//     MirrorObjects: Workloads ───────────────────────┐
//     the API server: their pods, if the caller may ──┴▶ RunningPlace ─▶ JSON
//         list pods in their namespaces
//
// Threads: as Session. Errors: none; the answer names the Workloads whose pods the API server has
// failed to give.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/clock.h"
#include "program/read_mirror.h"
#include "readapi/caller.h"
#include "view/session.h"

namespace berth::program {

// The form Locations: an item for each Workload of `objects` that runs and that the caller may see.
// `objects`: the Workloads of the request, which is of the kind kLocations.
nlohmann::json CallerLocations(view::Session& session, const readapi::CallerRequest& request,
                               const MirrorObjects& objects, WallTime now);

}  // namespace berth::program

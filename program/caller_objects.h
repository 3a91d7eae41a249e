// program/caller_objects.h — the manifests and events of one Workload and its job, and the log of
// one of its pods, for a caller of the read API.
//
//     CallerRequest ─▶ the API server, with the caller's rights ─▶ JSON
//
// Threads: as Session. Errors: kNotFound: no such Workload, pod or container; those of the API
// server. What the caller may not read of a Workload stands in `hidden`.
#pragma once

#include <cstddef>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "program/read_mirror.h"
#include "readapi/caller.h"
#include "view/session.h"

namespace berth::program {

inline constexpr std::size_t kMostToldEvents = 100;         // the newest
inline constexpr std::size_t kMostPodsWithEvents = 8;       // the events of more pods are not read
inline constexpr std::size_t kMostLogBytes = 256UL * 1024;  // the end of a log
inline constexpr int kMostLogLines = 500;

// {objects, events, eventsLeftOut, hidden}: the Workload and its job as YAML without managedFields,
// and the events of both and of the first pods, newest first. `request` is of the kind kObjects.
Result<nlohmann::json> CallerWorkloadObjects(view::Session& session,
                                             const readapi::CallerRequest& request,
                                             const MirrorObjects& objects);

// {pod, container, containers, text, cut}: the last lines of a container's log. `request` is of the
// kind kLog; without a container, of the pod's first or default one.
Result<nlohmann::json> CallerLog(view::Session& session, const readapi::CallerRequest& request);

}  // namespace berth::program

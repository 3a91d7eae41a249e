// program/caller_story.h — the story of one Workload for a caller of the read API, as `berth why
// workload/NAME -o json` tells it, with the pods of the Workload.
//
//     MirrorObjects that the caller may see ───────────┐
//     what the API server gives to the caller: pods, ──┴▶ TellStory ─▶ JSON
//         NodePools, flavors, checks
//
// The story contains no other Workloads but those that it names: the preemptor, the Workloads
// directly before this one, and the Workloads whose pods block admissions.
//
// Threads: as Session. Errors: kNotFound: no such Workload; those of the API server.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/clock.h"
#include "base/result.h"
#include "program/read_mirror.h"
#include "readapi/caller.h"
#include "view/session.h"

namespace berth::program {

inline constexpr std::size_t kMostStoryPods = 1'000;  // in an answer

// {story, pods, podsLeftOut}; podsLeftOut is 1 if there are more pods. `request` is of the kind
// kStory.
Result<nlohmann::json> CallerStory(view::Session& session, const readapi::CallerRequest& request,
                                   const MirrorObjects& objects, WallTime now);

// Whether the caller may know names of the namespace.
bool MaySee(const readapi::CallerRequest& request, const std::string& namespace_name);

// Removes the candidates of preemption that are in other namespaces than the Workload.
void HideOthers(api::Workload& workload);

}  // namespace berth::program

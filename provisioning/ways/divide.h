// provisioning/ways/divide.h — a job whose pods need not start together, where the policy has
// `split: {mode: Divide, maxNodesPerRequest: n}`: the pods are asked for in parts of n nodes.
//
//     request of part 1 ─ nodes ─▶ Ready: all pods are made, those of part 1 start
//                                  └▶ request of part 2 ─ nodes ─▶ …
//     … until each pod has had its turn
//
// The first part decides about the start, as the request of an undivided Workload does. A later
// part that fails is asked for again after the backoff of the config, and ends nothing: pods of
// earlier parts that finish make room, too. One part is asked for at a time.
//
// The requests are the memory: the annotation berth.dev/divided marks them, and all are kept while
// the check is Ready.
//
// Units: seconds, pods. Threads: pure functions. Errors: none. Source: this repository's
// specification of capacity.
#pragma once

#include "provisioning/ways/check_situation.h"
#include "provisioning/ways/move.h"

namespace berth::provisioning {

// Follows the requests for the parts of the pods of a Ready check, and asks for the next part.
// Precondition: there is a runner.
void FollowDivided(const CheckSituation& check, Move& move);

}  // namespace berth::provisioning

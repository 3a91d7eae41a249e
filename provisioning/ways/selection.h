// provisioning/ways/selection.h — which requests of a check may win, and what becomes of others.
//
//     requests of the check ─ match the steps and pods ─▶ candidates
//         ─ newest, with those that race with it, or one for each part ─▶ runners
//         ─ others ─▶ deleted; those that lost a race are kept while their nodes are offered
//
// A check that is settled keeps the request that its podSetUpdates name.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <vector>

#include "provisioning/race.h"
#include "provisioning/ways/check_situation.h"
#include "provisioning/ways/move.h"

namespace berth::provisioning {

// The requests that may win, by attempt. `check`: all its fields but the runners.
std::vector<Runner> SelectRunners(const CheckSituation& check);

// Deletes the requests of the check that are no runners.
void DropObsolete(const CheckSituation& check, Move& move);

}  // namespace berth::provisioning

// local/cluster/processes/program_user.h — the user of the jobs' programs (`berth up --job-user
// NAME`).
#pragma once

#include <string>

#include "base/result.h"
#include "local/cluster/processes/process_host.h"

namespace berth::local::cluster {

// kInvalid: no such user, root, or no right to switch users.
Result<ProcessUser> FindJobUser(const std::string& name);

// Checks that the user may enter every folder on the path to `folder`: kInvalid names the first
// folder that the user may not enter, and the remedy.
Status CheckReachable(const std::string& folder, const ProcessUser& user);

}  // namespace berth::local::cluster

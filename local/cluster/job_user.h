// local/cluster/job_user.h — the user as whom programs of jobs run (`berth up --job-user NAME`).
#pragma once

#include <string>

#include "base/result.h"
#include "local/cluster/process_host.h"

namespace berth::local::cluster {

// kInvalid where there is no such user, where it is root, or where we may not become others.
Result<ProcessUser> FindJobUser(const std::string& name);

// Whether every folder on the way to `folder` lets the user through: kInvalid names the one that
// does not, and the way out.
Status CheckReachable(const std::string& folder, const ProcessUser& user);

}  // namespace berth::local::cluster

// provisioning/pool_warnings.h — what Karpenter may do to the nodes of a job while the job runs:
// replace them at their expiry, or empty them because they are little used.
//
// Threads: pure functions. Errors: none; without NodePools there are no warnings.
#pragma once

#include <string>
#include <vector>

#include "provisioning/reactive.h"

namespace berth::provisioning {

struct PoolWarning {
  CheckEvent event;
  std::string key;  // the part of its message that stays the same
};

// At most one of each kind. Where `is_protected` the pods ask not to be disrupted, and Karpenter
// moves none of them.
std::vector<PoolWarning> PoolWarningsFor(const ReactiveSituation& situation, bool is_protected,
                                         WallTime now);

}  // namespace berth::provisioning

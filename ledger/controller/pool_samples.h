// ledger/controller/pool_samples.h — what nodes of each pool do at one moment.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <vector>

#include "api/pod.h"
#include "base/clock.h"
#include "kube/client/object_store.h"
#include "ledger/records.h"

namespace berth::ledger {

inline constexpr std::size_t kMostSampledPools = 64;  // the pools with the most nodes

// A sample for each pool, of kSampleSeconds. `pods`: of all namespaces; null: not known.
//
// A node is booting from its creation until it is ready for the first time: while Ready is not
// True, and has not changed later than a minute after the node's creation.
std::vector<PoolSampleRecord> PoolSamplesOf(const kube::ObjectStore<api::Node>::Objects& nodes,
                                            const kube::ObjectStore<api::Pod>::Objects* pods,
                                            WallTime now);

}  // namespace berth::ledger

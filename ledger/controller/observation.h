// ledger/controller/observation.h — objects → records of the ledger.
//
// The number of an attempt follows from status.schedulingStats.evictions: a Workload that was
// evicted n times is in its attempt n + 1, or ends its attempt n while its Evicted condition is
// True and its quota is not released. So a restart that sees an object again names the same rows.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/provisioning_request.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"
#include "ledger/records.h"
#include "provisioning/meter.h"

namespace berth::ledger {

// The attempts that the object has facts about: the attempt that ended last, if its conditions show
// the end, and the present attempt. `now` is the time at which a new cause of a wait was seen.
std::vector<AttemptRecord> AttemptsOf(const api::Workload& workload, WallTime now);

// The records of `after` that `before` does not give. `before` may be null.
std::vector<AttemptRecord> NewsOf(const api::Workload* before, const api::Workload& after,
                                  WallTime now);

// The resources of which several make one GPU, by flavor. A resource that is missing here counts
// whole GPUs.
using SharesByFlavor = std::map<std::string, std::map<std::string, api::Amount>>;

// Adds the GPUs of flavors with amounts of GPUs or of shares of GPUs, unless the uses of the flavor
// have the GPUs, which quota of api::kGpusResource counts (api/gpu_shares.h). Sorts `uses`.
void AddGpus(const SharesByFlavor& shares, std::vector<ResourceUse>& uses);

// The price of a node of each flavor, an hour in billionths of USD; the price of a missing flavor
// is not known.
using PriceByFlavor = std::map<std::string, std::int64_t>;

// The price of a node of the flavor, by its annotation berth.dev/price-per-hour.
std::optional<std::int64_t> PriceOf(const api::ResourceFlavor& flavor);

// AttemptRecord::hourly_nano of the admission.
std::optional<std::int64_t> RateOf(const api::Admission& admission, const PriceByFlavor& prices);

NodeTimeRecord NodeTimeOf(const provisioning::MeterNote& note);

CapacityRecord RequestOf(const api::ProvisioningRequest& request);

}  // namespace berth::ledger

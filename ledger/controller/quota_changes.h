// ledger/controller/quota_changes.h — the records of the quota that ClusterQueues have.
//
// Threads: one. Errors: none.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/queues.h"
#include "ledger/controller/observation.h"
#include "ledger/records.h"

namespace berth::ledger {

// resource → the nominal quota of the spec, the sum over its flavors, with berth.dev/gpus for GPUs
// and shares of GPUs (AddGpus).
std::map<std::string, api::Amount> QuotaOf(const SharesByFlavor& shares,
                                           const api::ClusterQueueSpec& spec);

// Remembers the quota of each ClusterQueue, so that only changes become records.
class QuotaChanges {
 public:
  // The records of the resources whose quota differs from that of the last call.
  std::vector<QuotaRecord> Take(const SharesByFlavor& shares, const api::ClusterQueue& queue,
                                Seconds now);
  // The records of a ClusterQueue that was deleted.
  std::vector<QuotaRecord> TakeDeleted(const std::string& queue, Seconds now);

 private:
  std::map<std::string, std::map<std::string, api::Amount>> known_;  // queue → resource → quota
};

}  // namespace berth::ledger

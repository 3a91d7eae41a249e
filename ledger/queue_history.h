// ledger/queue_history.h — usage and waits of a queue over time: attempts → one line for each part
// of a period.
//
// used:  the mean of the amounts that admitted attempts held in the part
// quota: the nominal quota at the end of the part, where the ledger knows it
// waits: from the queueing to the admission, of the attempts that were admitted in the part
//
// Threads: pure functions; a StreamedHistory belongs to one. Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ledger/accounts.h"
#include "ledger/records.h"

namespace berth::ledger {

struct HistoryPart {
  Seconds from = 0;
  Seconds to = 0;
  std::int64_t admitted = 0;
  std::int64_t preempted = 0;
  // A quantile of the waits, by nearest rank; nullopt: nothing was admitted.
  std::optional<Seconds> p50;
  std::optional<Seconds> p90;
  std::map<std::string, api::Amount> used;   // resource → mean
  std::map<std::string, api::Amount> quota;  // resource → nominal quota at the end of the part
  friend bool operator==(const HistoryPart&, const HistoryPart&) = default;
};

// The history of attempts that come one by one, in any order, in the parts of Divided().
class StreamedHistory {
 public:
  StreamedHistory(const Period& period, std::int64_t parts);
  void Add(const AttemptRecord& attempt);
  std::vector<HistoryPart> Parts() const;

 private:
  std::vector<HistoryPart> parts_;                   // the counts so far
  std::vector<std::vector<Seconds>> waits_;          // the waits of each part
  std::vector<std::map<std::string, double>> held_;  // resource → amount × seconds, for each part
};

// Adds the quotas of one ClusterQueue, in the order of resources and times, to the parts, which
// are in the order of time. A resource without quota at the end of a part is left out there.
void AddQuotas(const std::vector<QuotaRecord>& quotas, std::vector<HistoryPart>& parts);

// The sums of the quotas of several ClusterQueues, in the order of queues, resources and times, at
// the ends of `times`: resource → amount.
std::vector<std::map<std::string, api::Amount>> QuotaSums(const std::vector<QuotaRecord>& quotas,
                                                          const std::vector<Period>& times);

// The history of all of `attempts`.
std::vector<HistoryPart> MakeQueueHistory(const std::vector<AttemptRecord>& attempts,
                                          const Period& period, std::int64_t parts);

}  // namespace berth::ledger

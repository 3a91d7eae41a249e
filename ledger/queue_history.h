// ledger/queue_history.h — usage and waits of a queue over time: attempts → one line for each part
// of a period.
//
// used:  the mean of the amounts that admitted attempts held in the part
// waits: from the queueing to the admission, of the attempts that were admitted in the part
//
// Threads: pure functions. Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ledger/records.h"
#include "ledger/report.h"

namespace berth::ledger {

struct HistoryPart {
  Seconds from = 0;
  Seconds to = 0;
  std::int64_t admitted = 0;
  std::int64_t preempted = 0;
  std::optional<Seconds> p50;  // of the waits, by nearest rank; nullopt: nothing was admitted
  std::optional<Seconds> p90;
  std::map<std::string, api::Amount> used;  // resource → mean
  friend bool operator==(const HistoryPart&, const HistoryPart&) = default;
};

// `parts` above zero: of equal length, but for the rounding to seconds. A part
// of no length is left out.
std::vector<HistoryPart> MakeQueueHistory(const std::vector<AttemptRecord>& attempts,
                                          const Period& period, std::int64_t parts);

}  // namespace berth::ledger

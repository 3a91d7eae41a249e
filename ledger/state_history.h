// ledger/state_history.h — how many workloads waited, by cause, and ran over time: attempts → the
// mean numbers in each part of a period.
//
//     queued ──waiting, by cause──▶ reserved ──reserved──▶ admitted ──running──▶ ended
//
// An attempt that has not ended goes on until the end of the period. The time from the queueing to
// the first cause that the ledger has counts for the cause "".
//
// Costs: an attempt takes as many steps as it has causes, whatever the number of parts.
// Threads: one for each StreamedStates. Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ledger/accounts.h"
#include "ledger/records.h"

namespace berth::ledger {

// Mean numbers of workloads.
struct StatePart {
  std::map<std::string, double> waiting;  // by cause, as Wait::cause; only those above 0
  double reserved = 0;
  double running = 0;
};

// The states of attempts that come one by one, in any order, in the parts of Divided().
class StreamedStates {
 public:
  StreamedStates(const Period& period, std::int64_t parts);
  void Add(const AttemptRecord& attempt);

  const std::vector<Period>& times() const { return times_; }
  std::vector<StatePart> Parts() const;  // in the order of times()

 private:
  // Seconds of workloads in each part: of those that were there for a part of it, and the change of
  // the number of those that were there for all of it.
  struct Presence {
    std::vector<double> seconds;
    std::vector<std::int64_t> changes;
  };

  Presence Nobody() const;
  // The part that has the moment, or times_.size().
  std::size_t PartAt(Seconds moment) const;
  void AddSpan(Presence& presence, Seconds from, Seconds to) const;
  // The mean number in each part.
  std::vector<double> MeansOf(const Presence& presence) const;

  std::vector<Period> times_;
  std::map<std::string, Presence> waiting_;  // by cause
  Presence reserved_;
  Presence running_;
};

}  // namespace berth::ledger

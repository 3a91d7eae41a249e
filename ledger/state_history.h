// ledger/state_history.h — how many workloads waited, by cause, and ran over time, and what they
// used: attempts → the means in each part of a period.
//
//     queued ──waiting, by cause──▶ reserved ──reserved──▶ admitted ──running──▶ ended
//
// An attempt that has not ended goes on until the end of the period. The time from the queueing to
// the first cause that the ledger has counts for the cause "".
//
// Costs: an attempt takes as many steps as it has causes and resources, whatever the number of
// parts.
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
  std::map<std::string, api::Amount> used;  // resource → the amount that admitted attempts held
};

// The states of attempts that come one by one, in any order, in the parts of Divided().
class StreamedStates {
 public:
  StreamedStates(const Period& period, std::int64_t parts);
  void Add(const AttemptRecord& attempt);

  const std::vector<Period>& times() const { return times_; }
  std::vector<StatePart> Parts() const;  // in the order of times()

 private:
  // A number over time: number × seconds of what was there for a piece of a part, and the change,
  // from the part before, of what was there for the whole part.
  struct Presence {
    std::vector<double> seconds;
    std::vector<double> changes;
  };

  Presence Nothing() const;
  // The part that has the moment, or times_.size().
  std::size_t PartAt(Seconds moment) const;
  void AddSpan(Presence& presence, Seconds from, Seconds to, double number = 1) const;
  // The mean in each part.
  std::vector<double> MeansOf(const Presence& presence) const;

  std::vector<Period> times_;
  std::map<std::string, Presence> waiting_;  // by cause
  Presence reserved_;
  Presence running_;
  std::map<std::string, Presence> used_;  // by resource
};

}  // namespace berth::ledger

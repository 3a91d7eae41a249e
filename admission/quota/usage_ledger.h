// admission/quota/usage_ledger.h — the recent usage of LocalQueues, for admission fair sharing: the
// queue with the least usage goes first.
//
//     consumed' = consumed · (1 − α) + admitted usage · α      α = 1 − 0.5^(Δt / half-life)
//     usage     = Σ weight(r) · (consumed(r) + penalties(r)) / weight of the LocalQueue
//
// Consumption is sampled: at intervals, and when a workload becomes admitted. A queue could get
// many workloads through before the first sample counts them; therefore each reservation adds a
// penalty to its queue: the consumption of the workload in one interval. On admission the penalty
// becomes consumption.
//
// Units: whole cores, bytes, items. Threads: one. Errors: none; an unknown queue has usage 0.
// Source: Kueue KEP-4136, pkg/util/admissionfairsharing, pkg/cache/queue/afs.
#pragma once

#include <map>

#include "api/object_meta.h"
#include "api/quantity.h"
#include "base/clock.h"

namespace berth::admission {

// admissionFairSharing of Kueue's configuration.
struct AdmissionFairSharing {
  Duration half_life{};  // zero: usage is not remembered
  Duration sampling_interval = std::chrono::minutes(5);
  std::map<api::ResourceName, double> resource_weights;  // default weight: 1
};

using Spending = std::map<api::ResourceName, double>;

struct UsageHistory {
  Spending consumed;
  WallTime last_update{};
};

class UsageLedger {
 public:
  explicit UsageLedger(AdmissionFairSharing config) : config_(std::move(config)) {}

  void SetWeight(const api::ObjectKey& queue, double weight);
  // Restores the history from a LocalQueue's status; no effect if the queue has a history.
  void Restore(const api::ObjectKey& queue, UsageHistory history);
  void Forget(const api::ObjectKey& queue);

  // Workloads of the queue begin (sign 1) or end (-1) to use `amounts`.
  void AddAdmitted(const api::ObjectKey& queue, const Spending& amounts, int sign);

  // The penalty of a reservation of `requests`.
  Spending EntryPenalty(const Spending& requests) const;
  void AddPenalty(const api::ObjectKey& queue, const Spending& penalty, int sign);
  // The workload is admitted: turns its penalty into consumption.
  void Settle(const api::ObjectKey& queue, const Spending& penalty, WallTime now);

  // Takes a sample if one is due. The first history of a queue is its present usage.
  const UsageHistory& Sample(const api::ObjectKey& queue, WallTime now);

  // Infinite where the queue's weight is not positive.
  double UsageOf(const api::ObjectKey& queue) const;
  std::size_t size() const { return accounts_.size(); }

 private:
  struct Account {
    double weight = 1.0;
    bool exists = false;  // the LocalQueue exists
    bool known = false;   // a history exists
    UsageHistory history;
    Spending admitted;
    Spending penalties;
  };

  // Removes the entry of a LocalQueue that is gone and has neither usage nor penalties.
  void DropIfUnused(const api::ObjectKey& queue);
  double Alpha(Duration span) const;
  void Advance(Account& account, WallTime now) const;

  AdmissionFairSharing config_;
  std::map<api::ObjectKey, Account> accounts_;
};

}  // namespace berth::admission

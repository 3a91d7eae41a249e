// admission/usage_ledger.h — what LocalQueues have used of late, for admission fair sharing: the
// queue that used least goes first.
//
//     consumed' = consumed · (1 − α) + admitted usage · α      α = 1 − 0.5^(Δt / half-life)
//     usage     = Σ weight(r) · (consumed(r) + penalties(r)) / weight of the LocalQueue
//
// Consumption is sampled: at intervals, and when a workload becomes admitted. So that a queue does
// not get many workloads through before the first sample counts them, each reservation puts a
// penalty on its queue, what the workload would add within one interval; once it is admitted the
// penalty becomes consumption.
//
// Units: whole cores, bytes, items. Threads: one. Errors: none; unknown queues have used nothing.
// Source: Kueue KEP-4136, pkg/util/admissionfairsharing, pkg/cache/queue/afs.
#pragma once

#include <map>

#include "api/object_meta.h"
#include "api/quantity.h"
#include "base/clock.h"

namespace berth::admission {

// admissionFairSharing of Kueue's configuration.
struct AdmissionFairSharing {
  Duration half_life{};  // zero: nothing is remembered
  Duration sampling_interval = std::chrono::minutes(5);
  std::map<api::ResourceName, double> resource_weights;  // 1 where nothing is said
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
  // From the status of a LocalQueue; does nothing once the queue has a history.
  void Restore(const api::ObjectKey& queue, UsageHistory history);
  void Forget(const api::ObjectKey& queue);

  // Workloads of the queue begin (sign 1) or end (-1) to use `amounts`.
  void AddAdmitted(const api::ObjectKey& queue, const Spending& amounts, int sign);

  // What a reservation of `requests` costs its queue at once.
  Spending EntryPenalty(const Spending& requests) const;
  void AddPenalty(const api::ObjectKey& queue, const Spending& penalty, int sign);
  // The workload is admitted: its penalty is consumption from now on.
  void Settle(const api::ObjectKey& queue, const Spending& penalty, WallTime now);

  // Takes a sample if one is due.
  const UsageHistory& Sample(const api::ObjectKey& queue, WallTime now);

  // Infinite where the queue's weight is not positive.
  double UsageOf(const api::ObjectKey& queue) const;
  std::size_t size() const { return accounts_.size(); }

 private:
  struct Account {
    double weight = 1.0;
    bool exists = false;  // the LocalQueue does
    bool known = false;   // has a history
    UsageHistory history;
    Spending admitted;
    Spending penalties;
  };

  // Of a LocalQueue that is gone, when nothing counts for it any more.
  void DropIfUnused(const api::ObjectKey& queue);
  double Alpha(Duration span) const;
  void Advance(Account& account, WallTime now) const;

  AdmissionFairSharing config_;
  std::map<api::ObjectKey, Account> accounts_;
};

}  // namespace berth::admission

// ledger/controller/ledger_feed.h — gives the ledger records of the changes that the informers see.
//
//     informers (Workload, ProvisioningRequest) ── changes ─▶ records ─▶ Ledger::Append
//                       └── sweep, when all are listed, and after overflows ─▶
//     informer (ClusterQueue) ── changes ─▶ quotas ─▶
//     informers (Node, Pod) ── once a minute ─▶ samples of pools ─▶
//
// The feed makes no request to the API and starts no informer: it listens to the informers that
// controllers have. At the start the feed sweeps over all Workloads in slices, as fast as the
// ledger writes, so that the events are recorded that happened while no feed ran. The sweep is
// repeated when the queue of the ledger has overflowed.
//
//     berth_ledger_records_total           by result: written, unchanged, dropped
//     berth_ledger_queued_records, berth_ledger_lag_seconds, berth_ledger_bytes
//
// Threads: the manager's Executor. The arguments must outlive the feed, and the feed the manager's
// handlers: destroy it after Manager::Stop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/provisioning_request.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"
#include "kube/runtime/manager.h"
#include "kube/runtime/metrics.h"
#include "ledger/controller/observation.h"
#include "ledger/controller/quota_changes.h"
#include "ledger/ledger.h"

namespace berth::ledger {

struct LedgerFeedOptions {
  kube::Metrics* metrics = nullptr;  // null: no metrics
  bool users = false;                // true: records the annotation berth.dev/user of Workloads
};

class LedgerFeed {
 public:
  // Call after the controllers are made, before the informers start.
  LedgerFeed(kube::Manager& manager, const Clock& clock, Ledger& ledger,
             const LedgerFeedOptions& options = {});
  LedgerFeed(const LedgerFeed&) = delete;
  LedgerFeed& operator=(const LedgerFeed&) = delete;

 private:
  using WorkloadPtr = std::shared_ptr<const api::Workload>;
  using RequestPtr = std::shared_ptr<const api::ProvisioningRequest>;

  void Connect();
  void Begin();
  void Tell(AttemptRecord record, const api::Workload& workload);
  std::optional<Seconds> DeadlineOfJob(const api::Workload& workload) const;
  void TakeFlavor(const api::ResourceFlavor& flavor);
  void TakeQuota(const api::ClusterQueue& queue);
  void TakeQuotas();
  void Append(std::vector<QuotaRecord> records);
  Seconds Now() const { return ToSeconds(clock_.Now()); }
  void TakePrice(const api::ResourceFlavor& flavor);
  void TakeWorkload(const WorkloadPtr& before, const WorkloadPtr& after);
  void TakeRequest(const RequestPtr& before, const RequestPtr& after);
  void TellRequests();
  void StartSweep();
  void SweepSlice();
  void LookForOverflows();
  void Measure();
  void SamplePools();
  void PostAfter(Duration delay, void (LedgerFeed::*step)());

  kube::Manager& manager_;
  const Clock& clock_;
  Ledger& ledger_;
  kube::Metrics* metrics_;
  const bool users_;
  kube::Informer<api::Workload>* workloads_ = nullptr;  // null: no controller has the informer
  kube::Informer<api::ProvisioningRequest>* requests_ = nullptr;  // likewise
  kube::Informer<api::ResourceFlavor>* flavors_ = nullptr;        // likewise
  kube::Informer<api::ClusterQueue>* queues_ = nullptr;           // likewise
  SharesByFlavor shares_;
  QuotaChanges quotas_;
  PriceByFlavor prices_;
  LedgerStats measured_;  // the figures that metrics have counted already
  bool listed_ = false;   // all objects are listed: changes are recorded one by one
  bool sweeping_ = false;
  api::ObjectKey cursor_;          // the last Workload that the sweep has visited
  std::set<std::string> present_;  // uids of the Workloads of the sweep
  std::int64_t overflows_ = 0;     // the ledger's overflows when the sweep began
  std::shared_ptr<LedgerFeed*> self_ = std::make_shared<LedgerFeed*>(this);
};

}  // namespace berth::ledger

#include "ledger/controller/ledger_feed.h"

#include <utility>

#include "api/codec/kinds.h"
#include "api/gpu_shares.h"
#include "api/job.h"
#include "api/reasons.h"
#include "base/log/log.h"
#include "ledger/controller/pool_samples.h"

namespace berth::ledger {
namespace {

constexpr int kSlice = 250;  // Workloads of one task
constexpr std::chrono::milliseconds kBetweenSlices{10};
constexpr std::chrono::milliseconds kWhileFull{250};
constexpr std::chrono::seconds kLookForOverflows{30};
constexpr std::chrono::seconds kMeasureEvery{5};
constexpr std::chrono::seconds kSampleEvery{kSampleSeconds};
constexpr char kRecords[] = "berth_ledger_records_total";
constexpr char kQueued[] = "berth_ledger_queued_records";
constexpr char kLag[] = "berth_ledger_lag_seconds";
constexpr char kBytes[] = "berth_ledger_bytes";

}  // namespace

LedgerFeed::LedgerFeed(kube::Manager& manager, const Clock& clock, Ledger& ledger,
                       const LedgerFeedOptions& options)
    : manager_(manager),
      clock_(clock),
      ledger_(ledger),
      metrics_(options.metrics),
      users_(options.users) {
  if (manager_.HasInformer(api::KindOf<api::Workload>())) {
    workloads_ = &manager_.InformerFor<api::Workload>();
  }
  if (manager_.HasInformer(api::KindOf<api::ProvisioningRequest>())) {
    requests_ = &manager_.InformerFor<api::ProvisioningRequest>();
  }
  if (manager_.HasInformer(api::KindOf<api::ResourceFlavor>())) {
    flavors_ = &manager_.InformerFor<api::ResourceFlavor>();
  }
  if (manager_.HasInformer(api::KindOf<api::ClusterQueue>())) {
    queues_ = &manager_.InformerFor<api::ClusterQueue>();
  }
  Connect();
  PostAfter(kSampleEvery, &LedgerFeed::SamplePools);
  if (metrics_ != nullptr) Measure();
}

void LedgerFeed::Connect() {
  if (requests_ != nullptr) {
    requests_->AddHandler(
        {.on_add = [this](const auto& object) { TakeRequest(nullptr, object); },
         .on_update = [this](const auto& before, const auto& now) { TakeRequest(before, now); },
         .on_delete = [this](const auto& object) { TakeRequest(object, nullptr); }});
  }
  if (flavors_ != nullptr) {
    const auto take = [this](const auto& flavor) { TakeFlavor(*flavor); };
    flavors_->AddHandler(
        {.on_add = take, .on_update = [take](const auto&, const auto& now) { take(now); }});
  }
  if (queues_ != nullptr) {
    queues_->AddHandler(
        {.on_add = [this](const auto& queue) { TakeQuota(*queue); },
         .on_update =
             [this](const auto& before, const auto& now) {
               if (before->spec != now->spec) TakeQuota(*now);
             },
         .on_delete =
             [this](const auto& queue) { Append(quotas_.TakeDeleted(queue->meta.name, Now())); }});
  }
  if (workloads_ == nullptr) return;
  workloads_->AddHandler(
      {.on_add = [this](const auto& object) { TakeWorkload(nullptr, object); },
       .on_update = [this](const auto& before, const auto& now) { TakeWorkload(before, now); },
       .on_delete = [this](const auto& object) { TakeWorkload(object, nullptr); }});
  workloads_->OnSynced([weak = std::weak_ptr(self_)] {
    if (const auto self = weak.lock()) (*self)->Begin();
  });
}

// What a share of a GPU is has to be known first.
void LedgerFeed::Begin() {
  const bool has_flavors = flavors_ == nullptr || flavors_->has_synced();
  if (!has_flavors || (queues_ != nullptr && !queues_->has_synced())) {
    return PostAfter(kWhileFull, &LedgerFeed::Begin);
  }
  listed_ = true;
  StartSweep();
  PostAfter(kLookForOverflows, &LedgerFeed::LookForOverflows);
}

// A flavor that is deleted leaves its shares: attempts that hold its quota may still end.
void LedgerFeed::TakeFlavor(const api::ResourceFlavor& flavor) {
  TakePrice(flavor);
  const std::string* text = api::FindValue(flavor.meta.annotations, api::kSharesPerGpuAnnotation);
  std::map<std::string, api::Amount> shares;
  if (text != nullptr) {
    if (auto read = api::ParseShareNumbers(*text)) shares = *std::move(read);
  }
  std::map<std::string, api::Amount>& known = shares_[flavor.meta.name];
  if (known == shares) return;
  known = std::move(shares);
  TakeQuotas();  // quota in GPUs follows from the shares
}

void LedgerFeed::Append(std::vector<QuotaRecord> records) {
  for (QuotaRecord& record : records) ledger_.Append(std::move(record));
}

// Quota that is seen before the flavors is taken by the first sweep.
void LedgerFeed::TakeQuota(const api::ClusterQueue& queue) {
  if (listed_) Append(quotas_.Take(shares_, queue, Now()));
}

void LedgerFeed::TakeQuotas() {
  if (queues_ == nullptr) return;
  for (const auto& queue : queues_->objects()) TakeQuota(*queue);
}

void LedgerFeed::TakePrice(const api::ResourceFlavor& flavor) {
  const auto known = prices_.find(flavor.meta.name);
  const std::optional<std::int64_t> price = PriceOf(flavor);
  if (price == (known == prices_.end() ? std::nullopt : std::optional(known->second))) return;
  if (price) {
    prices_[flavor.meta.name] = *price;
  } else {
    prices_.erase(known);
  }
  ledger_.Append(PriceRecord{flavor.meta.name, ToSeconds(clock_.Now()), price});
}

void LedgerFeed::Tell(AttemptRecord record, const api::Workload& workload) {
  AddGpus(shares_, record.resources);
  if (!users_) record.user.clear();
  const auto& admission = workload.status.admission;
  if (record.reserved && admission) record.hourly_nano = RateOf(*admission, prices_);
  if (!record.declared) record.declared = DeadlineOfJob(workload);
  ledger_.Append(std::move(record));
}

// activeDeadlineSeconds of the Workload's Job, where Jobs are watched.
std::optional<Seconds> LedgerFeed::DeadlineOfJob(const api::Workload& workload) const {
  const api::OwnerReference* owner = api::ControllerOf(workload.meta);
  const bool of_job = owner != nullptr && owner->kind == "Job" && owner->api_version == "batch/v1";
  if (!of_job || !manager_.HasInformer(api::KindOf<api::Job>())) return std::nullopt;
  const auto job =
      manager_.InformerFor<api::Job>().Get({workload.meta.namespace_name, owner->name});
  return job == nullptr ? std::nullopt : job->active_deadline_seconds;
}

void LedgerFeed::PostAfter(Duration delay, void (LedgerFeed::*step)()) {
  manager_.executor().PostAfter(delay, [weak = std::weak_ptr(self_), step] {
    if (const auto self = weak.lock()) ((*self)->*step)();
  });
}

void LedgerFeed::TakeWorkload(const WorkloadPtr& before, const WorkloadPtr& after) {
  if (!listed_) return;
  const WallTime now = clock_.Now();
  if (after == nullptr) {
    if (sweeping_) present_.erase(before->meta.uid);
    if (api::IsTrue(before->status.conditions, api::kFinished)) return;
    return ledger_.Append(DeletedRecord{before->meta.uid, ToSeconds(now)});
  }
  if (sweeping_) present_.insert(after->meta.uid);
  for (AttemptRecord& record : NewsOf(before.get(), *after, now)) {
    Tell(std::move(record), *after);
  }
}

void LedgerFeed::TakeRequest(const RequestPtr& before, const RequestPtr& after) {
  if (after != nullptr) {
    CapacityRecord record = RequestOf(*after);
    if (before == nullptr || RequestOf(*before) != record) ledger_.Append(std::move(record));
    return;
  }
  CapacityRecord record = RequestOf(*before);
  if (!record.outcome.empty()) return;
  record.ended = ToSeconds(clock_.Now());
  record.outcome = kDeleted;
  ledger_.Append(std::move(record));
}

// All that exist: what changed while nobody recorded changes, or while its queue was full.
void LedgerFeed::TellRequests() {
  if (requests_ == nullptr) return;
  if (!requests_->has_synced()) return PostAfter(kWhileFull, &LedgerFeed::TellRequests);
  PresentRequests present;
  for (RequestPtr each = requests_->After({}); each != nullptr;
       each = requests_->After(each->meta.key())) {
    present.uids.insert(each->meta.uid);
    ledger_.Append(RequestOf(*each));
  }
  ledger_.Append(std::move(present));
}

void LedgerFeed::StartSweep() {
  sweeping_ = true;
  cursor_ = {};
  present_.clear();
  overflows_ = ledger_.stats().overflows;
  quotas_ = {};
  TakeQuotas();
  SweepSlice();
}

// Half of the queue stays free for changes.
void LedgerFeed::SweepSlice() {
  const WallTime now = clock_.Now();
  for (int i = 0; i < kSlice; ++i) {
    if (ledger_.stats().queued >= (ledger_.queue_size() + 1) / 2) {
      return PostAfter(kWhileFull, &LedgerFeed::SweepSlice);
    }
    const WorkloadPtr workload = workloads_->After(cursor_);
    if (workload == nullptr) {
      sweeping_ = false;
      ledger_.Append(PresentWorkloads{std::exchange(present_, {})});
      return TellRequests();
    }
    cursor_ = workload->meta.key();
    present_.insert(workload->meta.uid);
    for (AttemptRecord& record : AttemptsOf(*workload, now)) {
      Tell(std::move(record), *workload);
    }
  }
  PostAfter(kBetweenSlices, &LedgerFeed::SweepSlice);
}

void LedgerFeed::LookForOverflows() {
  const std::int64_t lost = ledger_.stats().overflows - overflows_;
  if (!sweeping_ && lost > 0) {
    LogWarning("the write queue of the ledger was full: all workloads are recorded again",
               {{"records", std::to_string(lost)}});
    StartSweep();
  }
  PostAfter(kLookForOverflows, &LedgerFeed::LookForOverflows);
}

// Other controllers may begin to read nodes or pods at any time.
void LedgerFeed::SamplePools() {
  const auto* nodes = manager_.FindInformer<api::Node>();
  const auto* pods = manager_.FindInformer<api::Pod>();
  if (nodes != nullptr && nodes->has_synced()) {
    const bool has_pods = pods != nullptr && pods->has_synced();
    for (PoolSampleRecord& sample :
         PoolSamplesOf(nodes->objects(), has_pods ? &pods->objects() : nullptr, clock_.Now())) {
      ledger_.Append(std::move(sample));
    }
  }
  PostAfter(kSampleEvery, &LedgerFeed::SamplePools);
}

void LedgerFeed::Measure() {
  const LedgerStats stats = ledger_.stats();
  const auto count = [this](const char* result, std::int64_t now, std::int64_t before) {
    metrics_->Increment(kRecords, {{"result", result}}, static_cast<double>(now - before));
  };
  count("written", stats.changed, measured_.changed);
  count("unchanged", stats.written - stats.changed, measured_.written - measured_.changed);
  count("dropped", stats.dropped, measured_.dropped);
  metrics_->SetGauge(kQueued, {}, static_cast<double>(stats.queued));
  metrics_->SetGauge(kLag, {}, std::chrono::duration<double>(stats.lag).count());
  metrics_->SetGauge(kBytes, {}, static_cast<double>(stats.bytes));
  measured_ = stats;
  PostAfter(kMeasureEvery, &LedgerFeed::Measure);
}

}  // namespace berth::ledger

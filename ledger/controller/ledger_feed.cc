#include "ledger/controller/ledger_feed.h"

#include <utility>

#include "api/codec/kinds.h"
#include "api/gpu_shares.h"
#include "api/reasons.h"
#include "base/log/log.h"

namespace berth::ledger {
namespace {

constexpr int kSlice = 250;  // Workloads of one task
constexpr std::chrono::milliseconds kBetweenSlices{10};
constexpr std::chrono::milliseconds kWhileFull{250};
constexpr std::chrono::seconds kLookForOverflows{30};

}  // namespace

LedgerFeed::LedgerFeed(kube::Manager& manager, const Clock& clock, Ledger& ledger)
    : manager_(manager), clock_(clock), ledger_(ledger) {
  if (manager_.HasInformer(api::KindOf<api::Workload>())) {
    workloads_ = &manager_.InformerFor<api::Workload>();
  }
  if (manager_.HasInformer(api::KindOf<api::ProvisioningRequest>())) {
    requests_ = &manager_.InformerFor<api::ProvisioningRequest>();
  }
  if (manager_.HasInformer(api::KindOf<api::ResourceFlavor>())) {
    flavors_ = &manager_.InformerFor<api::ResourceFlavor>();
  }
  Connect();
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
  if (flavors_ != nullptr && !flavors_->has_synced()) {
    return PostAfter(kWhileFull, &LedgerFeed::Begin);
  }
  listed_ = true;
  StartSweep();
  PostAfter(kLookForOverflows, &LedgerFeed::LookForOverflows);
}

// A flavor that is deleted leaves its shares: attempts that hold its quota may still end.
void LedgerFeed::TakeFlavor(const api::ResourceFlavor& flavor) {
  const std::string* text = api::FindValue(flavor.meta.annotations, api::kSharesPerGpuAnnotation);
  std::map<std::string, api::Amount> shares;
  if (text != nullptr) {
    if (auto read = api::ParseShareNumbers(*text)) shares = *std::move(read);
  }
  if (shares.empty()) {
    shares_.erase(flavor.meta.name);
  } else {
    shares_[flavor.meta.name] = std::move(shares);
  }
}

void LedgerFeed::Tell(AttemptRecord record) {
  AddGpus(shares_, record);
  ledger_.Append(std::move(record));
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
  for (AttemptRecord& record : NewsOf(before.get(), *after, now)) Tell(std::move(record));
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

void LedgerFeed::StartSweep() {
  sweeping_ = true;
  cursor_ = {};
  present_.clear();
  overflows_ = ledger_.stats().overflows;
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
      return ledger_.Append(PresentWorkloads{std::exchange(present_, {})});
    }
    cursor_ = workload->meta.key();
    present_.insert(workload->meta.uid);
    for (AttemptRecord& record : AttemptsOf(*workload, now)) Tell(std::move(record));
  }
  PostAfter(kBetweenSlices, &LedgerFeed::SweepSlice);
}

void LedgerFeed::LookForOverflows() {
  const std::int64_t lost = ledger_.stats().overflows - overflows_;
  if (!sweeping_ && lost > 0) {
    LogWarning("the queue of the ledger was full: the workloads are told again",
               {{"records", std::to_string(lost)}});
    StartSweep();
  }
  PostAfter(kLookForOverflows, &LedgerFeed::LookForOverflows);
}

}  // namespace berth::ledger

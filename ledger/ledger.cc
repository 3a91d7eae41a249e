#include "ledger/ledger.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/log/log.h"
#include "base/threads/guarded.h"

namespace berth::ledger {
namespace {

constexpr std::size_t kBatch = 4096;

class BehindLedger final : public Ledger {
 public:
  BehindLedger(const Clock& clock, LedgerOptions options, LedgerFile file)
      : clock_(clock), options_(std::move(options)), next_trim_(clock.SteadyNow()) {
    file_.emplace(std::move(file));
    thread_ = StartThread("the thread of the ledger failed", [this] { Run(); });
  }
  ~BehindLedger() override { End(false); }
  BehindLedger(const BehindLedger&) = delete;
  BehindLedger& operator=(const BehindLedger&) = delete;

  void Append(Record record) override;
  void Flush() override;
  void Abandon() override { End(true); }
  LedgerStats stats() const override {
    const std::lock_guard lock(mutex_);
    LedgerStats stats = stats_;
    stats.queued = queue_.size();
    if (const auto oldest = oldest_written_ ? oldest_written_ : oldest_queued_) {
      stats.lag = clock_.SteadyNow() - *oldest;
    }
    return stats;
  }
  std::size_t queue_size() const override { return options_.queue; }

 private:
  void End(bool abandon);
  void Run();
  bool WaitForBatch(std::unique_lock<std::mutex>& lock);
  void WriteGuarded(const std::vector<Record>& batch);
  void WriteBatch(const std::vector<Record>& batch);
  void Lost(const Error& error, std::size_t records);
  void Reopen();
  void TrimIfDue();

  const Clock& clock_;
  const LedgerOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;              // wakes the thread
  std::condition_variable done_;              // a batch is written
  std::vector<Record> queue_;                 // guarded by mutex_, as are the next eight
  std::optional<SteadyTime> oldest_queued_;   // when the queue's first record came
  std::optional<SteadyTime> oldest_written_;  // when the first record of the present batch came
  LedgerStats stats_;
  std::int64_t appended_ = 0;  // records that came into the queue
  std::int64_t settled_ = 0;   // the part that is written or lost
  int flushes_ = 0;            // calls of Flush that wait
  bool stopping_ = false;
  bool abandoned_ = false;
  std::optional<LedgerFile> file_;  // the thread uses it; none: it could not be opened again
  SteadyTime next_trim_;
  bool failing_ = false;  // the last batch was lost
  std::thread thread_;    // last: it uses the rest
};

void BehindLedger::Append(Record record) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || queue_.size() >= options_.queue) {
    ++stats_.dropped;
    ++stats_.overflows;
    return;
  }
  queue_.push_back(std::move(record));
  ++appended_;
  if (queue_.size() == 1) oldest_queued_ = clock_.SteadyNow();
  if (queue_.size() == 1 || queue_.size() == kBatch) wake_.notify_one();
}

void BehindLedger::Flush() {
  std::unique_lock lock(mutex_);
  const std::int64_t goal = appended_;
  ++flushes_;
  wake_.notify_one();
  done_.wait(lock, [&] { return settled_ >= goal || abandoned_; });
  --flushes_;
}

void BehindLedger::End(bool abandon) {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    abandoned_ = abandoned_ || abandon;
    wake_.notify_one();
    done_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

// Returns false at the end. A batch without records states that the ledger is alive.
bool BehindLedger::WaitForBatch(std::unique_lock<std::mutex>& lock) {
  const auto due = [this] { return stopping_ || !queue_.empty(); };
  if (!wake_.wait_for(lock, options_.trim_every, due)) return true;
  wake_.wait_for(lock, options_.batch_every,
                 [this] { return stopping_ || flushes_ > 0 || queue_.size() >= kBatch; });
  return !abandoned_ && !queue_.empty();
}

void BehindLedger::Run() {
  std::unique_lock lock(mutex_);
  while (WaitForBatch(lock)) {
    const std::vector<Record> batch = std::exchange(queue_, {});
    oldest_written_ = std::exchange(oldest_queued_, {});
    lock.unlock();
    WriteGuarded(batch);
    lock.lock();
    oldest_written_.reset();
    settled_ += static_cast<std::int64_t>(batch.size());
    done_.notify_all();
  }
  const bool close = !abandoned_ && file_;
  lock.unlock();
  if (close) {
    RunGuarded("closing the ledger failed", [this] {
      if (const Status closed = file_->Close(); !closed) Lost(closed.error(), 0);
    });
  }
  file_.reset();
}

// What throws leaves a transaction that ends with its file; the next batch opens the file anew.
void BehindLedger::WriteGuarded(const std::vector<Record>& batch) {
  if (!RunGuarded("a write of the ledger failed", [&] { WriteBatch(batch); })) {
    file_.reset();
    const std::lock_guard lock(mutex_);
    stats_.dropped += static_cast<std::int64_t>(batch.size());
  }
  if (!RunGuarded("a trim of the ledger failed", [this] { TrimIfDue(); })) file_.reset();
}

void BehindLedger::WriteBatch(const std::vector<Record>& batch) {
  if (!file_) Reopen();
  if (!file_) {
    const std::lock_guard lock(mutex_);
    stats_.dropped += static_cast<std::int64_t>(batch.size());
    return;
  }
  const Result<WriteCount> count = file_->Write(batch, ToSeconds(clock_.Now()));
  if (!count) {
    Lost(count.error(), batch.size());
    file_.reset();  // the next batch opens the file anew, which sets a damaged one aside
    return;
  }
  if (std::exchange(failing_, false)) LogInfo("writing to the ledger works again");
  const Result<std::int64_t> bytes = file_->BytesInUse();
  const std::lock_guard lock(mutex_);
  stats_.written += count->changed + count->unchanged;
  stats_.changed += count->changed;
  stats_.dropped += count->refused;
  if (bytes) stats_.bytes = *bytes;
}

void BehindLedger::Lost(const Error& error, std::size_t records) {
  if (!std::exchange(failing_, true)) {
    LogWarning("the ledger cannot be written: history is lost, jobs are not",
               {{"error", error.message}, {"records", std::to_string(records)}});
  }
  const std::lock_guard lock(mutex_);
  stats_.dropped += static_cast<std::int64_t>(records);
}

void BehindLedger::Reopen() {
  Result<LedgerFile> file = LedgerFile::Open(options_.path, options_.limits);
  if (!file) return Lost(file.error(), 0);
  if (!file->damage().empty()) LogWarning(file->damage());
  file_.emplace(*std::move(file));
}

void BehindLedger::TrimIfDue() {
  if (!file_ || clock_.SteadyNow() < next_trim_) return;
  next_trim_ = clock_.SteadyNow() + options_.trim_every;
  if (const Status trimmed = file_->Trim(ToSeconds(clock_.Now())); !trimmed) {
    Lost(trimmed.error(), 0);
  }
}

}  // namespace

Result<std::unique_ptr<Ledger>> Ledger::Open(const Clock& clock, LedgerOptions options) {
  BERTH_TRY(LedgerFile file, LedgerFile::Open(options.path, options.limits));
  if (!file.damage().empty()) LogWarning(file.damage());
  return std::unique_ptr<Ledger>(
      std::make_unique<BehindLedger>(clock, std::move(options), std::move(file)));
}

}  // namespace berth::ledger

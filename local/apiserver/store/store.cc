#include "local/apiserver/store/store.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "base/log/log.h"
#include "base/strings.h"
#include "base/system_clock.h"
#include "base/threads/guarded.h"
#include "local/apiserver/blocking.h"
#include "local/apiserver/store/database.h"

namespace berth::local {
namespace {

// How many written objects keep their parsed form, so that a change soon after a write need not
// parse again.
constexpr std::size_t kKeepParsed = 1024;

class Ticket final : public PendingWrite {
 public:
  std::vector<EventPtr> events;

  void OnDone(std::function<void(const Status&)> done) override {
    {
      const std::lock_guard lock(mutex_);
      if (!outcome_) {
        done_.push_back(std::move(done));
        return;
      }
    }
    done(*outcome_);
  }

  Status Wait() override {
    const BlockingScope blocking;
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [this] { return outcome_.has_value(); });
    return *outcome_;
  }

  // Called once, by the store.
  void Finish(const Status& outcome) {
    std::vector<std::function<void(const Status&)>> done;
    {
      const std::lock_guard lock(mutex_);
      outcome_ = outcome;
      done = std::move(done_);
      finished_.notify_all();
    }
    for (const auto& each : done) {
      RunGuarded("the end of a write failed", [&] { each(outcome); });
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable finished_;
  std::vector<std::function<void(const Status&)>> done_;
  std::optional<Status> outcome_;  // immutable once set
};

std::string Describe(const ObjectKey& key) {
  return key.resource + " \"" +
         (key.namespace_name.empty() ? key.name : key.namespace_name + "/" + key.name) + "\"";
}

class StoreImpl final : public Store {
 public:
  StoreImpl(StoreOptions options, std::unique_ptr<Database> database)
      : options_(std::move(options)),
        clock_(options_.clock == nullptr ? &system_clock_ : options_.clock),
        database_(std::move(database)),
        cache_(options_.window) {}

  Status Start();
  ~StoreImpl() override;

  Result<SubmittedWrite> Submit(std::vector<Write> writes) override;
  StoredPtr GetLatest(const ObjectKey& key) const override;
  std::shared_ptr<PendingWrite> PendingOf(const ObjectKey& key) const override;
  const WatchCache& cache() const override { return cache_; }
  Status Health() const override;
  const std::string& epoch() const override { return epoch_; }
  int AddListener(Listener on_events) override;
  void RemoveListener(int id) override;

 private:
  struct Pending {
    StoredPtr object;  // null: deleted
    std::int64_t revision = 0;
    std::shared_ptr<Ticket> ticket;
  };

  StoredPtr LatestLocked(const ObjectKey& key) const;
  std::optional<Error> CheckLocked(const Write& write, const StoredPtr& current) const;
  void EnqueueLocked(Write& write, StoredObject::Draft draft, StoredPtr before,
                     const std::shared_ptr<Ticket>& ticket);
  void PublishLocked(const Ticket& ticket);
  void RunWriter();
  void WriteOnce(std::unique_lock<std::mutex>& lock);
  void ForgetLocked(const std::vector<EventPtr>& events);
  std::vector<std::shared_ptr<Ticket>> TakeLostLocked(std::vector<std::shared_ptr<Ticket>> batch);
  void DropOldParsed(const std::vector<EventPtr>& events);
  void TidyDatabase(WallTime now);
  void NoteFailureLocked();
  void Tell(const std::vector<EventPtr>& events);

  const SystemClock system_clock_;
  const StoreOptions options_;
  const Clock* const clock_;
  const std::unique_ptr<Database> database_;  // null: memory only
  WatchCache cache_;
  std::string epoch_;

  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::deque<std::shared_ptr<Ticket>> queue_;
  std::map<ObjectKey, Pending> pending_;  // queued writes that are not in the cache yet
  std::int64_t revision_ = 1;             // last assigned revision
  bool stopping_ = false;
  std::optional<Error> failure_;  // set: the store takes no writes

  std::deque<EventPtr> parsed_;  // writer thread: events with parsed objects

  std::mutex listeners_mutex_;  // held while listeners run
  std::map<int, Listener> listeners_;
  int next_listener_ = 1;

  std::thread writer_;
};

Status StoreImpl::Start() {
  Database::Content content;
  if (database_ != nullptr) {
    BERTH_TRY(content, database_->Load());
  } else {
    content.epoch = NewEpoch();
    content.objects = options_.content.objects;
    content.revision = std::max(options_.first_revision, options_.content.revision);
    content.log_floor = content.revision;
  }
  epoch_ = content.epoch;
  revision_ = content.revision;
  cache_.Reset(std::move(content.objects), content.log, content.revision, content.log_floor,
               options_.unlogged_resources);
  if (database_ != nullptr) {
    writer_ = StartThread("the writer of the store failed", [this] { RunWriter(); });
  }
  return OkStatus();
}

StoreImpl::~StoreImpl() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  if (writer_.joinable()) writer_.join();
}

StoredPtr StoreImpl::LatestLocked(const ObjectKey& key) const {
  if (const auto it = pending_.find(key); it != pending_.end()) return it->second.object;
  return cache_.Get(key);
}

StoredPtr StoreImpl::GetLatest(const ObjectKey& key) const {
  const std::lock_guard lock(mutex_);
  return LatestLocked(key);
}

std::shared_ptr<PendingWrite> StoreImpl::PendingOf(const ObjectKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto it = pending_.find(key);
  return it == pending_.end() ? nullptr : it->second.ticket;
}

std::optional<Error> StoreImpl::CheckLocked(const Write& write, const StoredPtr& current) const {
  if (write.kind == Write::Kind::kCreate) {
    if (current == nullptr) return std::nullopt;
    return Error{ErrorCode::kAlreadyExists, Describe(write.key) + " already exists"};
  }
  if (current == nullptr) {
    return Error{ErrorCode::kNotFound, Describe(write.key) + " not found"};
  }
  if (current->revision() == write.expected_revision) return std::nullopt;
  return Error{ErrorCode::kConflict, Describe(write.key) + " is at revision " +
                                         std::to_string(current->revision()) + ", not " +
                                         std::to_string(write.expected_revision)};
}

Result<SubmittedWrite> StoreImpl::Submit(std::vector<Write> writes) {
  std::vector<StoredObject::Draft> drafts;
  drafts.reserve(writes.size());
  const auto text = database_ == nullptr ? StoredObject::Text::kOnDemand : StoredObject::Text::kNow;
  for (Write& write : writes) {
    drafts.push_back(StoredObject::MakeDraft(std::move(write.object), text));
  }

  auto ticket = std::make_shared<Ticket>();
  ticket->events.reserve(writes.size());
  SubmittedWrite submitted;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return Error{ErrorCode::kUnavailable, "the store is shutting down"};
    if (failure_) return *failure_;
    std::vector<StoredPtr> before;
    before.reserve(writes.size());
    for (const Write& write : writes) {
      before.push_back(LatestLocked(write.key));
      if (auto error = CheckLocked(write, before.back())) return *error;
    }
    for (std::size_t i = 0; i < writes.size(); ++i) {
      EnqueueLocked(writes[i], std::move(drafts[i]), std::move(before[i]), ticket);
      submitted.objects.push_back(ticket->events.back()->object);
    }
    if (database_ != nullptr) {
      queue_.push_back(ticket);
      if (queue_.size() == 1) work_.notify_one();
    } else {
      PublishLocked(*ticket);
    }
  }
  if (database_ == nullptr) ticket->Finish(OkStatus());
  submitted.pending = std::move(ticket);
  return submitted;
}

void StoreImpl::EnqueueLocked(Write& write, StoredObject::Draft draft, StoredPtr before,
                              const std::shared_ptr<Ticket>& ticket) {
  const std::int64_t revision = ++revision_;
  auto object = std::make_shared<const StoredObject>(write.key, revision, std::move(draft));
  const bool deleted = write.kind == Write::Kind::kDelete;
  pending_[write.key] = Pending{deleted ? nullptr : object, revision, ticket};
  auto event = std::make_shared<StoreEvent>();
  event->type = deleted             ? WatchEvent::Type::kDeleted
                : before == nullptr ? WatchEvent::Type::kAdded
                                    : WatchEvent::Type::kModified;
  event->revision = revision;
  event->time = clock_->Now();
  event->object = std::move(object);
  event->previous = std::move(before);
  ticket->events.push_back(std::move(event));
}

// Without a disk the write completes inside the call.
void StoreImpl::PublishLocked(const Ticket& ticket) {
  cache_.Publish(ticket.events);
  for (const EventPtr& event : ticket.events) pending_.erase(event->object->key());
  Tell(ticket.events);
  for (const EventPtr& event : ticket.events) {
    if (event->previous != nullptr) event->previous->DropParsed();
  }
}

// Between the disk, the cache and the listeners nothing may be left out: what throws there ends the
// process, whose next life reads the disk. The database ends its own exceptions (database.cc), and
// so do the callbacks of tickets.
void StoreImpl::RunWriter() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) break;  // stopping
    WriteOnce(lock);
  }
  lock.unlock();
  database_->Checkpoint();
}

void StoreImpl::WriteOnce(std::unique_lock<std::mutex>& lock) {
  std::vector<std::shared_ptr<Ticket>> batch;
  std::vector<EventPtr> events;
  while (!queue_.empty() && events.size() < options_.max_batch_writes) {
    batch.push_back(std::move(queue_.front()));
    queue_.pop_front();
    events.insert(events.end(), batch.back()->events.begin(), batch.back()->events.end());
  }
  lock.unlock();
  const Status written = database_->WriteBatch(events);
  if (written) cache_.Publish(events);
  lock.lock();
  if (written) {
    ForgetLocked(events);
  } else {
    NoteFailureLocked();
    batch = TakeLostLocked(std::move(batch));
  }
  lock.unlock();
  for (const auto& ticket : batch) ticket->Finish(written);
  if (written) {
    Tell(events);
    RunGuarded("tidying the store failed", [&] {
      DropOldParsed(events);
      TidyDatabase(events.back()->time);
    });
  } else {
    LogError("writing to the database failed", {{"error", written.error().message}});
  }
  lock.lock();
  NoteFailureLocked();
}

// A failure here is harmless: the writes are on the disk.
void StoreImpl::TidyDatabase(WallTime now) {
  const Database::LogLimits limits{options_.keep_log_rows, now - options_.window.keep_for};
  if (const auto more = database_->TrimLog(limits); !more) {
    LogWarning("trimming the change log failed", {{"error", more.error().message}});
  }
  if (const Status done = database_->CheckpointIfLarge(); !done) {
    LogWarning("the write-ahead log stays", {{"error", done.error().message}});
  }
}

void StoreImpl::NoteFailureLocked() {
  if (failure_ || database_->broken() == nullptr) return;
  failure_ = *database_->broken();
  LogError("no writes are taken any more", {{"error", failure_->message}});
}

Status StoreImpl::Health() const {
  const std::lock_guard lock(mutex_);
  return failure_ ? Status(*failure_) : OkStatus();
}

// Removes the events, which are in the cache, from the pending ones.
void StoreImpl::ForgetLocked(const std::vector<EventPtr>& events) {
  for (const EventPtr& event : events) {
    const auto it = pending_.find(event->object->key());
    if (it != pending_.end() && it->second.revision == event->revision) pending_.erase(it);
  }
}

// Queued writes were checked against the lost states and are lost too.
std::vector<std::shared_ptr<Ticket>> StoreImpl::TakeLostLocked(
    std::vector<std::shared_ptr<Ticket>> batch) {
  batch.insert(batch.end(), queue_.begin(), queue_.end());
  queue_.clear();
  pending_.clear();
  return batch;
}

// Previous states in the window keep their text only; so do older ones of the present
// states.
void StoreImpl::DropOldParsed(const std::vector<EventPtr>& events) {
  for (const EventPtr& event : events) {
    if (event->previous != nullptr) event->previous->DropParsed();
    parsed_.push_back(event);
  }
  while (parsed_.size() > kKeepParsed) {
    parsed_.front()->object->DropParsed();
    parsed_.pop_front();
  }
}

void StoreImpl::Tell(const std::vector<EventPtr>& events) {
  const std::lock_guard lock(listeners_mutex_);
  for (const auto& [id, listener] : listeners_) listener(events);
}

int StoreImpl::AddListener(Listener on_events) {
  const std::lock_guard lock(listeners_mutex_);
  listeners_.emplace(next_listener_, std::move(on_events));
  return next_listener_++;
}

void StoreImpl::RemoveListener(int id) {
  const std::lock_guard lock(listeners_mutex_);
  listeners_.erase(id);
}

}  // namespace

Result<std::vector<StoredPtr>> Store::Commit(std::vector<Write> writes) {
  BERTH_TRY(SubmittedWrite submitted, Submit(std::move(writes)));
  BERTH_CHECK_OK(submitted.pending->Wait());
  return std::move(submitted.objects);
}

Result<std::unique_ptr<Store>> Store::Open(StoreOptions options) {
  std::unique_ptr<Database> database;
  if (!options.path.empty()) {
    BERTH_TRY(database,
              Database::Open(options.path, {options.unlogged_resources, options.first_revision}));
  }
  auto store = std::make_unique<StoreImpl>(std::move(options), std::move(database));
  BERTH_CHECK_OK(store->Start());
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace berth::local

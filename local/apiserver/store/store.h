// local/apiserver/store/store.h — the store of all objects; every change goes through it.
//
//   Submit ─precondition, revision─▶ queue ─▶ writer thread ─disk─▶ watch cache ─▶ listeners
//            (against what is queued too)     (≤ 64 writes a transaction)
//
// One global revision counts every write. Writes reach the disk, the cache and the listeners in the
// order of revisions.
//
// Threads: every function may be called from any thread. Submit does not wait for the disk, Commit
// blocks until its write is durable and visible; concurrent writes share one disk transaction.
// Listeners and OnDone callbacks run on the writer thread, must be quick and must not call Commit.
// Errors: kConflict, kAlreadyExists, kNotFound (preconditions), kUnavailable (disk). A failed write
// has not happened, unless Health has an error: then its outcome is unknown until the store is
// opened again, and the store takes no writes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "local/apiserver/store/watch_cache.h"

namespace berth::local {

struct StoreOptions {
  std::string path;  // empty: in memory only
  // Memory only: the initial content, as another store's cache lists it.
  WatchCache::Snapshot content;
  WindowLimits window;
  std::size_t max_batch_writes = 64;
  std::int64_t keep_log_rows = 10'000;  // rows younger than window.keep_for are kept beyond this
  // The first revision of a new store.
  std::int64_t first_revision = 1;
  const Clock* clock = nullptr;  // gives the times of changes; null: real time
  // Resources whose changes are not logged on disk: they change often, and their watches do not
  // resume after a restart.
  std::vector<std::string> unlogged_resources = {"leases.coordination.k8s.io", "events"};
};

// A change of one object.
struct Write {
  enum class Kind { kCreate, kUpdate, kDelete };
  Kind kind = Kind::kCreate;
  ObjectKey key;
  Json object;                         // kDelete: the last state, for watchers
  std::int64_t expected_revision = 0;  // kUpdate, kDelete: revision of the read object
};

// A submitted write. It may outlive the store, which completes every write before its end.
class PendingWrite {
 public:
  virtual ~PendingWrite() = default;
  // Calls `done` once, when the write is durable and visible, or has failed: on the writer thread,
  // or inside this call if that has happened already. Callbacks run in the order of writes.
  virtual void OnDone(std::function<void(const Status&)> done) = 0;
  virtual Status Wait() = 0;
};

struct SubmittedWrite {
  std::vector<StoredPtr> objects;  // new states, in order; for kDelete the last state
  std::shared_ptr<PendingWrite> pending;
};

class Store {
 public:
  static Result<std::unique_ptr<Store>> Open(StoreOptions options);
  virtual ~Store() = default;  // completes queued writes

  // Submits all of `writes` or none, each with its own revision. Preconditions fail here; later
  // only the disk can fail. The writes must not be acknowledged before they are done.
  virtual Result<SubmittedWrite> Submit(std::vector<Write> writes) = 0;
  // Submits and waits; returns the new states in the same order.
  Result<std::vector<StoredPtr>> Commit(std::vector<Write> writes);

  // The base of a read-modify-write: includes writes that are not durable yet.
  virtual StoredPtr GetLatest(const ObjectKey& key) const = 0;
  // The newest submitted write of the object; null: the state of GetLatest is durable. A caller
  // that answers with that state waits for this write.
  virtual std::shared_ptr<PendingWrite> PendingOf(const ObjectKey& key) const = 0;

  virtual const WatchCache& cache() const = 0;
  // OK, or the reason why the store accepts no writes.
  virtual Status Health() const = 0;
  // Random, created with the database: continue tokens of another epoch are refused.
  virtual const std::string& epoch() const = 0;

  // Calls `on_events` with every batch after the batch is visible in the cache. No call after
  // RemoveListener has returned.
  using Listener = std::function<void(const std::vector<EventPtr>&)>;
  virtual int AddListener(Listener on_events) = 0;
  virtual void RemoveListener(int id) = 0;
};

}  // namespace berth::local

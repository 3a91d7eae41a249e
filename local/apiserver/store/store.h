// local/apiserver/store/store.h — the one place where objects change.
//
//   Submit ─precondition, revision─▶ queue ─▶ writer thread ─disk─▶ watch cache ─▶ listeners
//            (against what is queued too)     (≤ 64 writes a transaction)
//
// One global revision counts every write. Writes reach the disk, the cache and the listeners in the
// order of their revisions.
//
// Threads: every function may be called from any thread. Submit does not wait for the disk, Commit
// blocks until its write is durable and visible; concurrent writes share one disk transaction.
// Listeners and OnDone callbacks run on the writer thread, must be quick and must not call Commit.
// Errors: kConflict, kAlreadyExists, kNotFound (preconditions), kUnavailable (disk). A write that
// failed has not happened, unless Health has an error since: then it is unknown until the store is
// opened anew, and no writes are taken.
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
  std::string path;  // empty: memory only, nothing survives
  // Memory only: what is there from the beginning, as another store's cache lists it.
  WatchCache::Snapshot content;
  WindowLimits window;
  std::size_t max_batch_writes = 64;
  std::int64_t keep_log_rows = 10'000;  // younger than window.keep_for: more of them
  // Of a new store. A store that replaces another one begins above every revision of that one, so
  // that no client takes a new change for one it has seen.
  std::int64_t first_revision = 1;
  const Clock* clock = nullptr;  // when a change was written; null: real time
  // Changes of these are not logged on disk: they are many and nobody resumes a watch on them.
  std::vector<std::string> unlogged_resources = {"leases.coordination.k8s.io", "events"};
};

// One change of one object.
struct Write {
  enum class Kind { kCreate, kUpdate, kDelete };
  Kind kind = Kind::kCreate;
  ObjectKey key;
  Json object;                         // kDelete: the last state to be told to watchers
  std::int64_t expected_revision = 0;  // kUpdate, kDelete: of the object that was read
};

// A write on its way to the disk. It may outlive the store, which ends every write first.
class PendingWrite {
 public:
  virtual ~PendingWrite() = default;
  // Calls `done` once, when the write is durable and visible, or has failed: on the writer thread,
  // or within this call where that has happened already. Callbacks are called in order.
  virtual void OnDone(std::function<void(const Status&)> done) = 0;
  virtual Status Wait() = 0;
};

struct SubmittedWrite {
  std::vector<StoredPtr> objects;  // the new states, in order; the last state for kDelete
  std::shared_ptr<PendingWrite> pending;
};

class Store {
 public:
  static Result<std::unique_ptr<Store>> Open(StoreOptions options);
  virtual ~Store() = default;  // queued writes are finished first

  // All of `writes` or none, each with its own revision. Preconditions fail here; what comes later
  // can only be the disk. Nobody may be told of the write before it is done.
  virtual Result<SubmittedWrite> Submit(std::vector<Write> writes) = 0;
  // Submit and wait: the new states in the same order.
  Result<std::vector<StoredPtr>> Commit(std::vector<Write> writes);

  // What a read-modify-write starts from: includes writes that are still on their way to the disk.
  virtual StoredPtr GetLatest(const ObjectKey& key) const = 0;
  // The newest write of the object that is still on its way; null: what GetLatest says is on the
  // disk. Who answers with a state that he has not written waits for it.
  virtual std::shared_ptr<PendingWrite> PendingOf(const ObjectKey& key) const = 0;

  virtual const WatchCache& cache() const = 0;
  // An error: no writes are taken any more, and why.
  virtual Status Health() const = 0;
  // Random, made with the database: continue tokens of another one are refused.
  virtual const std::string& epoch() const = 0;

  // `on_events` sees every batch after it has become visible in the cache. Not called any more when
  // RemoveListener has returned.
  using Listener = std::function<void(const std::vector<EventPtr>&)>;
  virtual int AddListener(Listener on_events) = 0;
  virtual void RemoveListener(int id) = 0;
};

}  // namespace berth::local

// local/apiserver/store/database.h — the SQLite file: the newest state of each object, a bounded
// log of changes, the revision.
//
// The log stores with each change the state that it replaced, so that a watch that resumes after a
// restart can report that an object has left its selection.
//
// WAL, synchronous=FULL: a batch that WriteBatch acknowledged survives a crash of the process and
// of the machine. One process at a time: a lock file beside the database is held while it is open.
//
// A write that fails for a full disk has not happened. After any other failed commit, and after a
// failed fsync, the content of the disk is unknown: every later call fails with the same error
// (`broken`) until the file is opened again.
//
// Threads: none; one thread at a time.
// Errors: kInvalid (newer schema, not a database, damaged), kUnavailable (in use, read-only, disk
// full, I/O). Every message names the file and the remedy.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "local/apiserver/store/watch_cache.h"

namespace berth::local {

// A random identifier of one database's history: revisions of two histories do not compare.
std::string NewEpoch();

class Database {
 public:
  // The content of the file: objects, newest first, then the log in order of revision.
  struct Content {
    std::vector<StoredPtr> objects;
    std::vector<EventPtr> log;   // each with its `previous`
    std::int64_t revision = 1;   // revision of the last write
    std::int64_t log_floor = 1;  // the log has every logged change after this revision
    std::string epoch;           // random, made with the file
  };

  struct Options {
    std::vector<std::string> unlogged_resources;
    std::int64_t first_revision = 1;  // for a new file
  };
  // Creates file and folder if they do not exist.
  static Result<std::unique_ptr<Database>> Open(const std::string& path, const Options& options);
  virtual ~Database() = default;

  virtual Result<Content> Load() = 0;
  // Writes all of `events` in one transaction.
  virtual Status WriteBatch(const std::vector<EventPtr>& events) = 0;
  struct LogLimits {
    static constexpr std::int64_t kYoungFactor = 8;
    std::int64_t rows = 10'000;
    WallTime keep_after;  // keeps younger rows, up to kYoungFactor times as many
  };
  // Deletes at most 500 of the oldest log rows beyond the limits. Returns true if more remain.
  virtual Result<bool> TrimLog(const LogLimits& limits) = 0;
  // Checkpoints the write-ahead log if it is large.
  virtual Status CheckpointIfLarge() = 0;
  // Checkpoints the write-ahead log.
  virtual void Checkpoint() = 0;
  // The error that stops all writes; null: none.
  virtual const Error* broken() const = 0;
};

}  // namespace berth::local

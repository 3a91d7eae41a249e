// local/apiserver/store/database.h — the SQLite file: the newest state of each object, a bounded
// log of changes, the revision.
//
// The log keeps with each change the state that the change replaced, so that a watch that resumes
// after a restart can tell that an object has left its selection.
//
// WAL, synchronous=FULL: what WriteBatch acknowledged survives a crash of the process and of the
// machine. One process at a time: a lock file beside the database is held while it is open.
//
// A write that fails for want of room has not happened. After any other failed commit, and after
// a failed fsync, what is on the disk is unknown: every later call fails with the same error
// (`broken`) until the file is opened anew.
//
// Threads: none; one thread at a time.
// Errors: kInvalid (newer schema, not a database, damaged), kUnavailable (in use, read-only, disk
// full, I/O). Every message names the file and the way out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "local/apiserver/store/watch_cache.h"

namespace berth::local {

// A random name for the history of one database: revisions of two histories do not compare.
std::string NewEpoch();

class Database {
 public:
  // Everything in the file, newest objects first delivered, then the log in order of revision.
  struct Content {
    std::vector<StoredPtr> objects;
    std::vector<EventPtr> log;   // each with its `previous`
    std::int64_t revision = 1;   // of the last write
    std::int64_t log_floor = 1;  // the log has every logged change after it
    std::string epoch;           // random, made with the file
  };

  struct Options {
    std::vector<std::string> unlogged_resources;
    std::int64_t first_revision = 1;  // of a file that is created
  };
  // Creates the file and its folder where they do not exist.
  static Result<std::unique_ptr<Database>> Open(const std::string& path, const Options& options);
  virtual ~Database() = default;

  virtual Result<Content> Load() = 0;
  // All of `events`, one transaction.
  virtual Status WriteBatch(const std::vector<EventPtr>& events) = 0;
  struct LogLimits {
    static constexpr std::int64_t kYoungFactor = 8;
    std::int64_t rows = 10'000;
    WallTime keep_after;  // younger rows stay, up to kYoungFactor times as many
  };
  // Deletes at most 500 of the oldest log rows beyond the limits. True: more remain.
  virtual Result<bool> TrimLog(const LogLimits& limits) = 0;
  // Folds the write-ahead log into the file where the log has grown.
  virtual Status CheckpointIfLarge() = 0;
  // The same at the end, whatever its size.
  virtual void Checkpoint() = 0;
  // Why nothing is written any more; null while all is well.
  virtual const Error* broken() const = 0;
};

}  // namespace berth::local

// local/apiserver/store/database.h — the SQLite file: the newest state of each object, a bounded
// log of changes, the revision.
//
// WAL, synchronous=FULL: what WriteBatch acknowledged survives a crash of the process and of the
// machine. One process at a time: a lock file beside the database is held while it is open.
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
    std::vector<EventPtr> log;   // `previous` is known where the log or `objects` tell
    std::int64_t revision = 1;   // of the last write
    std::int64_t log_floor = 1;  // the log has every logged change after it
    std::string epoch;           // random, made with the file
  };

  // Creates the file and its folder where they do not exist.
  static Result<std::unique_ptr<Database>> Open(const std::string& path,
                                                std::vector<std::string> unlogged_resources);
  virtual ~Database() = default;

  virtual Result<Content> Load() = 0;
  // All of `events`, one transaction.
  virtual Status WriteBatch(const std::vector<EventPtr>& events) = 0;
  // Deletes at most 500 of the oldest log rows where there are more than `keep_rows`.
  // True: more remain.
  virtual Result<bool> TrimLog(std::int64_t keep_rows) = 0;
  // Folds the write-ahead log into the file.
  virtual void Checkpoint() = 0;
};

}  // namespace berth::local

// local/apiserver/store/backup.h — the state of one revision as a database of its own, while the
// store goes on.
//
// What is written is what the watch cache holds: every object, as it is on the disk. The file needs
// no other beside it. Placed as the database of an empty data directory it is a cluster again:
// opened for the first time it begins a new epoch above its own revision and the revision that a
// new database would begin at, without a log. Clients of the store it was taken from, which may
// have seen later revisions, are told to list again.
//
// Threads: any; blocks for the disk. One backup to a path at a time.
// Errors: kUnavailable (disk), naming the file.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "local/apiserver/store/watch_cache.h"

namespace berth::local {

struct Backup {
  std::string path;
  std::int64_t revision = 0;
  std::size_t objects = 0;
};

// Replaces the file at `path` when all of the new one is on the disk.
Result<Backup> WriteBackup(const WatchCache& cache, const std::string& path);

}  // namespace berth::local

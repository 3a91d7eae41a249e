// local/apiserver/store/backup.h — writes the state of one revision to a new database, while the
// store keeps running.
//
// Writes the objects of the watch cache, all of which are durable. The backup is a single
// file. As the database of an empty data directory it is a cluster: its first open begins a
// new epoch above its own revision and above the first revision of a new database, without a
// log. Clients of the original store, which may have seen later revisions, have to list
// again.
//
// Threads: any thread; blocks for the disk. One backup to a path at a time.
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

// Replaces the file at `path` once the new file is durable.
Result<Backup> WriteBackup(const WatchCache& cache, const std::string& path);

}  // namespace berth::local

#include "local/apiserver/store/backup.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "base/sqlite/sqlite.h"
#include "local/apiserver/store/database.h"

namespace berth::local {
namespace {

constexpr std::size_t kBatch = 500;

Error FileError(const std::string& path, const std::error_code& error) {
  return {ErrorCode::kUnavailable, "writing " + path + ": " + error.message()};
}

// Without a log: watches do not resume on a copy.
Status WriteObjects(const std::vector<StoredPtr>& objects, std::int64_t revision,
                    const std::string& path) {
  std::set<std::string> resources;
  for (const StoredPtr& object : objects) resources.insert(object->key().resource);
  BERTH_TRY(const auto database,
            Database::Open(path, {{resources.begin(), resources.end()}, revision}));
  for (std::size_t i = 0; i < objects.size(); i += kBatch) {
    std::vector<EventPtr> batch;
    for (std::size_t k = i; k < std::min(i + kBatch, objects.size()); ++k) {
      auto event = std::make_shared<StoreEvent>();
      event->revision = objects[k]->revision();
      event->object = objects[k];
      batch.push_back(std::move(event));
    }
    BERTH_CHECK_OK(database->WriteBatch(batch));
    BERTH_CHECK_OK(database->CheckpointIfLarge());
  }
  return OkStatus();
}

Status Finish(std::int64_t revision, const std::string& path) {
  BERTH_TRY(Sqlite sqlite, Sqlite::Open(path));
  const std::string mark =
      "INSERT INTO meta VALUES('backup_revision', " + std::to_string(revision) + ")";
  BERTH_CHECK_OK(sqlite.Execute("PRAGMA synchronous=FULL"));
  BERTH_CHECK_OK(sqlite.Execute(mark.c_str()));
  // Merges and removes the write-ahead log.
  return sqlite.Execute("PRAGMA journal_mode=DELETE");
}

void RemoveParts(const std::string& path) {
  std::error_code ignored;
  for (const char* suffix : {"", "-wal", "-shm", ".lock"}) {
    std::filesystem::remove(path + suffix, ignored);
  }
}

}  // namespace

Result<Backup> WriteBackup(const WatchCache& cache, const std::string& path) {
  WatchCache::Snapshot snapshot = cache.ListEverything();
  std::sort(snapshot.objects.begin(), snapshot.objects.end(),
            [](const StoredPtr& a, const StoredPtr& b) { return a->revision() < b->revision(); });
  const std::string part = path + ".part";
  RemoveParts(part);
  Status written = WriteObjects(snapshot.objects, snapshot.revision, part);
  if (written) written = Finish(snapshot.revision, part);
  std::error_code failed;
  if (written) {
    std::filesystem::permissions(
        part, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, failed);
    if (!failed) std::filesystem::rename(part, path, failed);
    if (failed) written = FileError(path, failed);
  }
  RemoveParts(part);
  if (!written) return written.error();
  return Backup{path, snapshot.revision, snapshot.objects.size()};
}

}  // namespace berth::local

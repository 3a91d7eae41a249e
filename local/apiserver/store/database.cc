#include "local/apiserver/store/database.h"

#include <filesystem>
#include <map>
#include <random>
#include <unordered_set>

#include "base/strings.h"
#include "local/apiserver/store/file_lock.h"
#include "local/apiserver/store/sqlite.h"

namespace berth::local {
namespace {

constexpr std::int64_t kSchemaVersion = 1;
constexpr std::int64_t kApplicationId = 0x42525448;  // "BRTH", for file(1)
constexpr std::int64_t kQuickCheckBytes = 32 * 1024 * 1024;
constexpr int kTrimSlice = 500;

constexpr const char* kPragmas =
    "PRAGMA locking_mode=EXCLUSIVE;"  // the lock file says the same; spares the shared memory file
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=FULL;"
    "PRAGMA temp_store=MEMORY;"
    "PRAGMA wal_autocheckpoint=2000;"
    "PRAGMA journal_size_limit=16777216;";

constexpr const char* kSchema =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS object("
    "  resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,"
    "  rev INTEGER NOT NULL, api_version TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,"
    "  UNIQUE(resource, namespace, name));"
    "CREATE TABLE IF NOT EXISTS event("
    "  rev INTEGER PRIMARY KEY, type INTEGER NOT NULL,"
    "  resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,"
    "  api_version TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL);"
    "INSERT OR IGNORE INTO meta VALUES('revision', 1);"
    "INSERT OR IGNORE INTO meta VALUES('log_floor', 1);"
    "PRAGMA application_id=1112691784;"
    "PRAGMA user_version=1;"
    "COMMIT;";
static_assert(kApplicationId == 1112691784);

class SqliteDatabase final : public Database {
 public:
  SqliteDatabase(std::string path, FileLock lock, Sqlite sqlite,
                 std::vector<std::string> unlogged_resources)
      : path_(std::move(path)),
        lock_(std::move(lock)),
        sqlite_(std::move(sqlite)),
        unlogged_(unlogged_resources.begin(), unlogged_resources.end()) {}

  Status Prepare();
  Result<Content> Load() override;
  Status WriteBatch(const std::vector<EventPtr>& events) override;
  Result<bool> TrimLog(std::int64_t keep_rows) override;
  void Checkpoint() override;

 private:
  Status CheckVersion();
  Status WriteRows(const std::vector<EventPtr>& events);
  Status WriteRow(const StoreEvent& event);
  Result<std::vector<StoredPtr>> LoadObjects();
  Result<std::vector<EventPtr>> LoadLog(const std::vector<StoredPtr>& objects);

  const std::string path_;
  const FileLock lock_;
  Sqlite sqlite_;
  const std::unordered_set<std::string> unlogged_;
  Statement put_object_;
  Statement delete_object_;
  Statement put_event_;
  Statement put_revision_;
  std::int64_t log_rows_ = 0;
};

Status SqliteDatabase::CheckVersion() {
  BERTH_TRY(const std::int64_t version, sqlite_.QueryInt("PRAGMA user_version"));
  if (version > kSchemaVersion) {
    return Error{ErrorCode::kInvalid, path_ + " has schema version " + std::to_string(version) +
                                          ", this program knows versions up to " +
                                          std::to_string(kSchemaVersion) +
                                          ": use a newer berth, or another data directory"};
  }
  BERTH_TRY(const std::int64_t tables, sqlite_.QueryInt("SELECT count(*) FROM sqlite_master"));
  BERTH_TRY(const std::int64_t application, sqlite_.QueryInt("PRAGMA application_id"));
  if (tables > 0 && application != kApplicationId) {
    return Error{ErrorCode::kInvalid, path_ +
                                          " is a database of another program; choose another "
                                          "data directory"};
  }
  std::error_code ignored;
  if (tables > 0 &&
      static_cast<std::int64_t>(std::filesystem::file_size(path_, ignored)) <= kQuickCheckBytes) {
    BERTH_TRY(const std::string verdict, sqlite_.QueryText("PRAGMA quick_check(1)"));
    if (verdict != "ok") {
      return Error{ErrorCode::kInvalid, path_ + " is damaged (" + verdict +
                                            "): restore a copy, or start anew with an empty data "
                                            "directory"};
    }
  }
  return OkStatus();
}

Status SqliteDatabase::Prepare() {
  BERTH_CHECK_OK(CheckVersion());
  if (sqlite_.IsReadOnly()) {
    return Error{ErrorCode::kUnavailable,
                 path_ + " is read-only: make it writable or choose another data directory"};
  }
  BERTH_CHECK_OK(sqlite_.Execute(kPragmas));
  BERTH_CHECK_OK(sqlite_.Execute(kSchema));
  BERTH_TRY(Statement epoch, sqlite_.Prepare("INSERT OR IGNORE INTO meta VALUES('epoch', ?1)"));
  const std::string fresh = NewEpoch();
  BERTH_CHECK_OK(epoch.Bind(1, fresh).Run());
  BERTH_TRY(put_object_,
            sqlite_.Prepare("INSERT INTO object VALUES(?1,?2,?3,?4,?5,?6,?7) "
                            "ON CONFLICT(resource,namespace,name) DO UPDATE SET rev=?4, "
                            "api_version=?5, kind=?6, body=?7"));
  BERTH_TRY(delete_object_,
            sqlite_.Prepare("DELETE FROM object WHERE resource=?1 AND namespace=?2 AND name=?3"));
  BERTH_TRY(put_event_, sqlite_.Prepare("INSERT INTO event VALUES(?1,?2,?3,?4,?5,?6,?7,?8)"));
  BERTH_TRY(put_revision_, sqlite_.Prepare("UPDATE meta SET value=?1 WHERE key='revision'"));
  BERTH_TRY(log_rows_, sqlite_.QueryInt("SELECT count(*) FROM event"));
  return OkStatus();
}

Result<Database::Content> SqliteDatabase::Load() {
  Content content;
  BERTH_TRY(content.revision, sqlite_.QueryInt("SELECT value FROM meta WHERE key='revision'"));
  BERTH_TRY(content.log_floor, sqlite_.QueryInt("SELECT value FROM meta WHERE key='log_floor'"));
  BERTH_TRY(content.epoch, sqlite_.QueryText("SELECT value FROM meta WHERE key='epoch'"));
  BERTH_TRY(content.objects, LoadObjects());
  BERTH_TRY(content.log, LoadLog(content.objects));
  return content;
}

Result<std::vector<StoredPtr>> SqliteDatabase::LoadObjects() {
  std::vector<StoredPtr> objects;
  BERTH_TRY(
      Statement rows,
      sqlite_.Prepare("SELECT resource,namespace,name,rev,api_version,kind,body FROM object"));
  while (true) {
    BERTH_TRY(const bool row, rows.Step());
    if (!row) return objects;
    objects.push_back(std::make_shared<const StoredObject>(
        ObjectKey{std::string(rows.Text(0)), std::string(rows.Text(1)), std::string(rows.Text(2))},
        rows.Int(3), std::string(rows.Text(4)), std::string(rows.Text(5)),
        std::string(rows.Text(6))));
  }
}

Result<std::vector<EventPtr>> SqliteDatabase::LoadLog(const std::vector<StoredPtr>& objects) {
  // One state in memory for what the log and the object table both have.
  std::map<std::int64_t, StoredPtr> by_revision;
  for (const StoredPtr& object : objects) by_revision[object->revision()] = object;
  std::map<ObjectKey, StoredPtr> last;
  std::vector<EventPtr> log;
  BERTH_TRY(Statement rows, sqlite_.Prepare("SELECT rev,type,resource,namespace,name,api_version,"
                                            "kind,body FROM event ORDER BY rev"));
  while (true) {
    BERTH_TRY(const bool row, rows.Step());
    if (!row) return log;
    auto event = std::make_shared<StoreEvent>();
    event->revision = rows.Int(0);
    event->type = static_cast<WatchEvent::Type>(rows.Int(1));
    ObjectKey key{std::string(rows.Text(2)), std::string(rows.Text(3)), std::string(rows.Text(4))};
    const auto known = by_revision.find(event->revision);
    event->object = known != by_revision.end()
                        ? known->second
                        : std::make_shared<const StoredObject>(
                              key, event->revision, std::string(rows.Text(5)),
                              std::string(rows.Text(6)), std::string(rows.Text(7)));
    if (event->type != WatchEvent::Type::kAdded) event->previous = last[key];
    last[key] = event->type == WatchEvent::Type::kDeleted ? nullptr : event->object;
    log.push_back(std::move(event));
  }
}

Status SqliteDatabase::WriteBatch(const std::vector<EventPtr>& events) {
  if (events.empty()) return OkStatus();
  BERTH_CHECK_OK(sqlite_.Execute("BEGIN IMMEDIATE"));
  Status written = WriteRows(events);
  if (written) {
    written = sqlite_.Execute("COMMIT");
    if (written) return written;
  }
  // The error of the write is the one to report; after a failed COMMIT the transaction may be gone.
  if (const Status undone = sqlite_.Execute("ROLLBACK"); !undone) return written;
  return written;
}

Status SqliteDatabase::WriteRows(const std::vector<EventPtr>& events) {
  for (const EventPtr& event : events) BERTH_CHECK_OK(WriteRow(*event));
  return put_revision_.Bind(1, events.back()->revision).Run();
}

Status SqliteDatabase::WriteRow(const StoreEvent& event) {
  const StoredObject& object = *event.object;
  const ObjectKey& key = object.key();
  if (event.type == WatchEvent::Type::kDeleted) {
    delete_object_.Bind(1, key.resource).Bind(2, key.namespace_name).Bind(3, key.name);
    BERTH_CHECK_OK(delete_object_.Run());
  } else {
    put_object_.Bind(1, key.resource).Bind(2, key.namespace_name).Bind(3, key.name);
    put_object_.Bind(4, event.revision).Bind(5, object.api_version()).Bind(6, object.kind());
    BERTH_CHECK_OK(put_object_.Bind(7, object.body()).Run());
  }
  if (unlogged_.contains(key.resource)) return OkStatus();
  put_event_.Bind(1, event.revision).Bind(2, static_cast<std::int64_t>(event.type));
  put_event_.Bind(3, key.resource).Bind(4, key.namespace_name).Bind(5, key.name);
  put_event_.Bind(6, object.api_version()).Bind(7, object.kind()).Bind(8, object.body());
  BERTH_CHECK_OK(put_event_.Run());
  ++log_rows_;
  return OkStatus();
}

Result<bool> SqliteDatabase::TrimLog(std::int64_t keep_rows) {
  // Half as many again before trimming starts, so that it does not run after every write.
  if (log_rows_ <= keep_rows + keep_rows / 2 + kTrimSlice) return false;
  BERTH_TRY(Statement nth, sqlite_.Prepare("SELECT rev FROM event ORDER BY rev LIMIT 1 OFFSET ?1"));
  BERTH_TRY(const bool found, nth.Bind(1, kTrimSlice - 1).Step());
  if (!found) return false;
  const std::int64_t floor = nth.Int(0);
  nth.Reset();
  BERTH_CHECK_OK(sqlite_.Execute("BEGIN IMMEDIATE"));
  const std::string sql = "DELETE FROM event WHERE rev<=" + std::to_string(floor) +
                          "; UPDATE meta SET value=" + std::to_string(floor) +
                          " WHERE key='log_floor'; COMMIT";
  if (const Status trimmed = sqlite_.Execute(sql.c_str()); !trimmed) {
    if (const Status undone = sqlite_.Execute("ROLLBACK"); !undone) return trimmed.error();
    return trimmed.error();
  }
  log_rows_ -= kTrimSlice;
  return true;
}

void SqliteDatabase::Checkpoint() {
  if (const Status done = sqlite_.Execute("PRAGMA wal_checkpoint(TRUNCATE)"); !done) return;
}

}  // namespace

std::string NewEpoch() {
  std::random_device device;
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(device() & 0xFFU));
  return HexEncode(bytes);
}

Result<std::unique_ptr<Database>> Database::Open(const std::string& path,
                                                 std::vector<std::string> unlogged_resources) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code failed;
  if (!folder.empty()) std::filesystem::create_directories(folder, failed);
  if (failed) {
    return Error{ErrorCode::kUnavailable, "cannot make " + folder.string() + ": " +
                                              failed.message() + "; choose another data directory"};
  }
  BERTH_TRY(FileLock lock, FileLock::Acquire(path + ".lock"));
  BERTH_TRY(Sqlite sqlite, Sqlite::Open(path));
  auto database = std::make_unique<SqliteDatabase>(path, std::move(lock), std::move(sqlite),
                                                   std::move(unlogged_resources));
  if (const Status ready = database->Prepare(); !ready) {
    const Error& error = ready.error();
    if (error.message.find(path) != std::string::npos) return error;
    return Annotate(error, path);
  }
  return std::unique_ptr<Database>(std::move(database));
}

}  // namespace berth::local

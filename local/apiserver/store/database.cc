#include "local/apiserver/store/database.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <unordered_set>

#include "base/sqlite/sqlite.h"
#include "base/strings.h"
#include "base/threads/guarded.h"
#include "local/apiserver/store/file_lock.h"

namespace berth::local {
namespace {

constexpr std::int64_t kSchemaVersion = 2;
constexpr std::int64_t kApplicationId = 0x42525448;  // "BRTH", for file(1)
constexpr std::int64_t kQuickCheckBytes = 32 * 1024 * 1024;
constexpr int kTrimSlice = 500;
constexpr int kCheckpointPages = 2000;

constexpr const char* kPragmas =
    "PRAGMA locking_mode=EXCLUSIVE;"  // the lock file excludes others; avoids shared memory
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=FULL;"
    "PRAGMA temp_store=MEMORY;"
    "PRAGMA journal_size_limit=16777216;";

constexpr const char* kSchema =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS object("
    "  resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,"
    "  rev INTEGER NOT NULL, api_version TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,"
    "  UNIQUE(resource, namespace, name));"
    // The state after a change is the object's present state, or the `previous` of its next change.
    // Only a deletion's state needs a column of its own.
    "CREATE TABLE IF NOT EXISTS change("
    "  rev INTEGER PRIMARY KEY, time INTEGER NOT NULL, type INTEGER NOT NULL,"
    "  resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,"
    "  api_version TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,"
    "  previous_rev INTEGER NOT NULL, previous_api_version TEXT NOT NULL,"
    "  previous_kind TEXT NOT NULL, previous_body TEXT NOT NULL);"
    "PRAGMA application_id=1112691784;"
    "PRAGMA user_version=2;"
    "COMMIT;";

// The log of version 1 lacks previous states: watches have to start again.
constexpr const char* kFromVersion1 =
    "BEGIN IMMEDIATE;"
    "DROP TABLE event;"
    "UPDATE meta SET value=(SELECT value FROM meta WHERE key='revision') WHERE key='log_floor';"
    "COMMIT;";

static_assert(kApplicationId == 1112691784);

class SqliteDatabase final : public Database {
 public:
  SqliteDatabase(std::string path, FileLock lock, Sqlite sqlite, const Options& options)
      : path_(std::move(path)),
        lock_(std::move(lock)),
        sqlite_(std::move(sqlite)),
        unlogged_(options.unlogged_resources.begin(), options.unlogged_resources.end()) {}

  Status Prepare(std::int64_t first_revision);
  Result<Content> Load() override;
  Status WriteBatch(const std::vector<EventPtr>& events) override;
  Result<bool> TrimLog(const LogLimits& limits) override;
  Status CheckpointIfLarge() override;
  void Checkpoint() override;
  const Error* broken() const override { return broken_ ? &*broken_ : nullptr; }

 private:
  Result<std::int64_t> CheckVersion();
  Status MakeMeta(std::int64_t first_revision);
  Status BeginAnewIfBackup(std::int64_t first_revision);
  Error Break(const Error& cause);
  Status Transaction(const std::function<Status()>& write);
  Status WriteRows(const std::vector<EventPtr>& events);
  Status WriteRow(const StoreEvent& event);
  Result<std::vector<StoredPtr>> LoadObjects();
  Status LoadLog(Content& content);

  const std::string path_;
  const FileLock lock_;
  Sqlite sqlite_;
  const std::unordered_set<std::string> unlogged_;
  Statement put_object_;
  Statement delete_object_;
  Statement put_event_;
  Statement put_revision_;
  std::int64_t log_rows_ = 0;
  std::optional<Error> broken_;
};

Result<std::int64_t> SqliteDatabase::CheckVersion() {
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
  return version;
}

Status SqliteDatabase::MakeMeta(std::int64_t first_revision) {
  BERTH_TRY(Statement put, sqlite_.Prepare("INSERT OR IGNORE INTO meta VALUES(?1, ?2)"));
  for (const char* key : {"revision", "log_floor"}) {
    BERTH_CHECK_OK(put.Bind(1, std::string_view(key)).Bind(2, first_revision).Run());
  }
  const std::string epoch = NewEpoch();
  return put.Bind(1, std::string_view("epoch")).Bind(2, epoch).Run();
}

// A backup that has become a database (store/backup.h).
Status SqliteDatabase::BeginAnewIfBackup(std::int64_t first_revision) {
  BERTH_TRY(const std::int64_t taken_at,
            sqlite_.QueryInt("SELECT value FROM meta WHERE key='backup_revision'"));
  if (taken_at == 0) return OkStatus();
  BERTH_TRY(const std::int64_t last,
            sqlite_.QueryInt("SELECT value FROM meta WHERE key='revision'"));
  const std::string revision = std::to_string(std::max({first_revision, taken_at + 1, last + 1}));
  const std::string sql = "UPDATE meta SET value=" + revision +
                          " WHERE key IN ('revision', 'log_floor');"
                          "UPDATE meta SET value='" +
                          NewEpoch() +
                          "' WHERE key='epoch';"
                          "DELETE FROM change;"
                          "DELETE FROM meta WHERE key='backup_revision'";
  return Transaction([&] { return sqlite_.Execute(sql.c_str()); });
}

Status SqliteDatabase::Prepare(std::int64_t first_revision) {
  BERTH_TRY(const std::int64_t version, CheckVersion());
  if (sqlite_.IsReadOnly()) {
    return Error{ErrorCode::kUnavailable,
                 path_ + " is read-only: make it writable or choose another data directory"};
  }
  BERTH_CHECK_OK(sqlite_.Execute(kPragmas));
  if (version == 1) BERTH_CHECK_OK(sqlite_.Execute(kFromVersion1));
  BERTH_CHECK_OK(sqlite_.Execute(kSchema));
  BERTH_CHECK_OK(MakeMeta(first_revision));
  BERTH_CHECK_OK(BeginAnewIfBackup(first_revision));
  BERTH_TRY(put_object_,
            sqlite_.Prepare("INSERT INTO object VALUES(?1,?2,?3,?4,?5,?6,?7) "
                            "ON CONFLICT(resource,namespace,name) DO UPDATE SET rev=?4, "
                            "api_version=?5, kind=?6, body=?7"));
  BERTH_TRY(delete_object_,
            sqlite_.Prepare("DELETE FROM object WHERE resource=?1 AND namespace=?2 AND name=?3"));
  BERTH_TRY(put_event_, sqlite_.Prepare("INSERT INTO change VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,"
                                        "?10,?11,?12,?13)"));
  BERTH_TRY(put_revision_, sqlite_.Prepare("UPDATE meta SET value=?1 WHERE key='revision'"));
  BERTH_TRY(log_rows_, sqlite_.QueryInt("SELECT count(*) FROM change"));
  return OkStatus();
}

Result<Database::Content> SqliteDatabase::Load() {
  Content content;
  BERTH_TRY(content.revision, sqlite_.QueryInt("SELECT value FROM meta WHERE key='revision'"));
  BERTH_TRY(content.log_floor, sqlite_.QueryInt("SELECT value FROM meta WHERE key='log_floor'"));
  BERTH_TRY(content.epoch, sqlite_.QueryText("SELECT value FROM meta WHERE key='epoch'"));
  BERTH_TRY(content.objects, LoadObjects());
  BERTH_CHECK_OK(LoadLog(content));
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

// Goes back from the newest change: a change's previous state is the state of the change before.
Status SqliteDatabase::LoadLog(Content& content) {
  std::map<ObjectKey, StoredPtr> made;
  for (const StoredPtr& object : content.objects) made[object->key()] = object;
  BERTH_TRY(Statement rows,
            sqlite_.Prepare("SELECT rev,time,type,resource,namespace,name,api_version,kind,body,"
                            "previous_rev,previous_api_version,previous_kind,previous_body "
                            "FROM change ORDER BY rev DESC"));
  const auto state = [&rows](const ObjectKey& key, std::int64_t revision, int column) {
    return std::make_shared<const StoredObject>(key, revision, std::string(rows.Text(column)),
                                                std::string(rows.Text(column + 1)),
                                                std::string(rows.Text(column + 2)));
  };
  while (true) {
    BERTH_TRY(const bool row, rows.Step());
    if (!row) break;
    auto event = std::make_shared<StoreEvent>();
    event->revision = rows.Int(0);
    event->time = WallTime(Duration(rows.Int(1)));
    event->type = static_cast<WatchEvent::Type>(rows.Int(2));
    const ObjectKey key{std::string(rows.Text(3)), std::string(rows.Text(4)),
                        std::string(rows.Text(5))};
    StoredPtr& after = made[key];
    event->object =
        event->type == WatchEvent::Type::kDeleted ? state(key, event->revision, 6) : after;
    if (event->object == nullptr || event->object->revision() != event->revision) {
      // The log contradicts the objects: older changes are dropped.
      content.log_floor = event->revision;
      rows.Reset();
      break;
    }
    if (event->type != WatchEvent::Type::kAdded) event->previous = state(key, rows.Int(9), 10);
    after = event->previous;
    content.log.push_back(std::move(event));
  }
  std::reverse(content.log.begin(), content.log.end());
  return OkStatus();
}

Error SqliteDatabase::Break(const Error& cause) {
  broken_ = Error{ErrorCode::kUnavailable,
                  cause.message +
                      "; it is unknown what reached the disk, so nothing is written "
                      "until berth is started again"};
  return *broken_;
}

Status SqliteDatabase::Transaction(const std::function<Status()>& write) {
  if (broken_) return *broken_;
  BERTH_CHECK_OK(sqlite_.Execute("BEGIN IMMEDIATE"));
  // A write that throws has not happened: it is rolled back like one that fails.
  Status written = Error{ErrorCode::kInternal, path_ + ": a bug of Berth; the log has its error"};
  RunGuarded("a write of the database failed", [&] { written = write(); });
  bool unknown = !written && sqlite_.FailedToSync();
  if (written) {
    written = sqlite_.Execute("COMMIT");
    if (written) return written;
    unknown = sqlite_.LeftDiskUnknown();
  }
  // The error of the write is the one to report.
  if (sqlite_.InTransaction() && !sqlite_.Execute("ROLLBACK")) unknown = true;
  return unknown ? Status(Break(written.error())) : written;
}

Status SqliteDatabase::WriteBatch(const std::vector<EventPtr>& events) {
  if (events.empty()) return OkStatus();
  return Transaction([&] { return WriteRows(events); });
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
  const bool deleted = event.type == WatchEvent::Type::kDeleted;
  const StoredObject* previous = event.previous.get();
  const std::string none;
  put_event_.Bind(1, event.revision).Bind(2, event.time.time_since_epoch().count());
  put_event_.Bind(3, static_cast<std::int64_t>(event.type));
  put_event_.Bind(4, key.resource).Bind(5, key.namespace_name).Bind(6, key.name);
  put_event_.Bind(7, object.api_version()).Bind(8, object.kind());
  put_event_.Bind(9, deleted ? object.body() : none);
  put_event_.Bind(10, previous == nullptr ? 0 : previous->revision());
  put_event_.Bind(11, previous == nullptr ? none : previous->api_version());
  put_event_.Bind(12, previous == nullptr ? none : previous->kind());
  put_event_.Bind(13, previous == nullptr ? none : previous->body());
  BERTH_CHECK_OK(put_event_.Run());
  ++log_rows_;
  return OkStatus();
}

Result<bool> SqliteDatabase::TrimLog(const LogLimits& limits) {
  // Trimming starts at one and a half times the limit, so that it does not run after every write.
  const std::int64_t most = limits.rows + limits.rows / 2 + kTrimSlice;
  if (log_rows_ <= most) return false;
  BERTH_TRY(Statement nth,
            sqlite_.Prepare("SELECT rev, time FROM change ORDER BY rev LIMIT 1 OFFSET ?1"));
  BERTH_TRY(const bool found, nth.Bind(1, kTrimSlice - 1).Step());
  if (!found) return false;
  const std::int64_t floor = nth.Int(0);
  const bool is_young = WallTime(Duration(nth.Int(1))) > limits.keep_after;
  nth.Reset();
  if (is_young && log_rows_ <= most * LogLimits::kYoungFactor) return false;
  const std::string sql = "DELETE FROM change WHERE rev<=" + std::to_string(floor) +
                          "; UPDATE meta SET value=" + std::to_string(floor) +
                          " WHERE key='log_floor'";
  BERTH_CHECK_OK(Transaction([&] { return sqlite_.Execute(sql.c_str()); }));
  log_rows_ -= kTrimSlice;
  return true;
}

Status SqliteDatabase::CheckpointIfLarge() {
  if (broken_) return *broken_;
  if (sqlite_.wal_pages() < kCheckpointPages) return OkStatus();
  Status done = sqlite_.Checkpoint(Sqlite::CheckpointMode::kPassive);
  if (done || !sqlite_.FailedToSync()) return done;
  return Break(done.error());
}

void SqliteDatabase::Checkpoint() {
  if (broken_) return;
  if (const auto done = sqlite_.Checkpoint(Sqlite::CheckpointMode::kTruncate); !done) return;
}

}  // namespace

std::string NewEpoch() {
  std::random_device device;
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(device() & 0xFFU));
  return HexEncode(bytes);
}

Result<std::unique_ptr<Database>> Database::Open(const std::string& path, const Options& options) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code failed;
  if (!folder.empty()) std::filesystem::create_directories(folder, failed);
  if (failed) {
    return Error{ErrorCode::kUnavailable, "cannot make " + folder.string() + ": " +
                                              failed.message() + "; choose another data directory"};
  }
  BERTH_TRY(FileLock lock, FileLock::Acquire(path + ".lock"));
  BERTH_TRY(Sqlite sqlite, Sqlite::Open(path));
  auto database =
      std::make_unique<SqliteDatabase>(path, std::move(lock), std::move(sqlite), options);
  if (const Status ready = database->Prepare(options.first_revision); !ready) {
    const Error& error = ready.error();
    if (error.message.find(path) != std::string::npos) return error;
    return Annotate(error, path);
  }
  return std::unique_ptr<Database>(std::move(database));
}

}  // namespace berth::local

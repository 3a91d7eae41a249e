#include "ledger/ledger_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <type_traits>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/ledger_rows.h"
#include "ledger/ledger_schema.h"

namespace berth::ledger {
namespace {

constexpr std::int64_t kQuickCheckBytes = 32LL * 1024 * 1024;
constexpr int kCheckpointPages = 1000;
constexpr int kTrimRounds = 10'000;  // each round takes 500 rows

constexpr const char* kPragmas =
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=NORMAL;"  // a crash of the machine may lose the last batches
    "PRAGMA temp_store=MEMORY;"
    "PRAGMA journal_size_limit=16777216;";

constexpr const char* kOldestAttempts =
    "(SELECT uid, attempt FROM attempt WHERE ended IS NOT NULL ORDER BY ended LIMIT 500)";

// `columns`: their names, each with a comma between. A value is bound for each, in their order.
std::string PutInto(const std::string& table, const std::string& columns) {
  const auto count = 1 + std::count(columns.begin(), columns.end(), ',');
  std::string values = "?1";
  for (std::ptrdiff_t i = 2; i <= count; ++i) values += ",?" + std::to_string(i);
  return "INSERT OR REPLACE INTO " + table + "(" + columns + ") VALUES(" + values + ")";
}

// Samples older than `age` are joined to samples of `into` seconds.
struct Thinning {
  Seconds span;
  Seconds age;
  Seconds into;
};
constexpr Thinning kThinnings[] = {{kSampleSeconds, 24 * kHour, kHour / 4},
                                   {kHour / 4, 14 * 24 * kHour, kHour}};

constexpr const char* kAddSample =
    " ON CONFLICT DO UPDATE SET seconds=seconds+excluded.seconds, ready=ready+excluded.ready, "
    "booting=booting+excluded.booting, idle=idle+excluded.idle, "
    "idle_seconds=idle_seconds+excluded.idle_seconds";

// The log and the shared memory get the mode of the file.
Status MakePrivateFile(const std::string& path) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the POSIX call
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) {
    return Error{ErrorCode::kUnavailable, "ledger " + path + ": " + std::strerror(errno)};
  }
  const bool closed = ::fchmod(file, 0600) == 0;
  ::close(file);
  if (closed) return OkStatus();
  return Error{ErrorCode::kUnavailable, "ledger " + path + ": cannot be made private (chmod 600)"};
}

Result<std::string> SetAside(const std::string& path, const std::string& why) {
  std::error_code error;
  std::filesystem::rename(path, path + ".damaged", error);
  if (error) {
    return Error{ErrorCode::kUnavailable,
                 "ledger " + path + " is damaged and cannot be set aside: " + error.message()};
  }
  for (const char* part : {"-wal", "-shm"}) std::filesystem::remove(path + part, error);
  return path + " was damaged (" + why + ") and lies in " + path +
         ".damaged: the history begins anew";
}

}  // namespace

Result<LedgerFile> LedgerFile::Open(const std::string& path, const Limits& limits) {
  BERTH_CHECK_OK(MakePrivateFile(path));
  Result<LedgerFile> file = OpenSound(path, limits);
  if (file || file.error().code != ErrorCode::kInvalid) return file;
  BERTH_TRY(std::string damage, SetAside(path, file.error().message));
  BERTH_CHECK_OK(MakePrivateFile(path));
  BERTH_TRY(LedgerFile fresh, OpenSound(path, limits));
  fresh.damage_ = std::move(damage);
  return fresh;
}

Result<LedgerFile> LedgerFile::OpenSound(const std::string& path, const Limits& limits) {
  BERTH_TRY(Sqlite sqlite, Sqlite::Open(path));
  LedgerFile file(path, limits, std::move(sqlite));
  BERTH_CHECK_OK(file.Migrate());
  BERTH_CHECK_OK(file.PrepareStatements());
  BERTH_TRY(file.last_write_,
            file.sqlite_.QueryInt("SELECT value FROM meta WHERE key='last_write'"));
  return file;
}

Status LedgerFile::Migrate() {
  BERTH_TRY(std::int64_t version, sqlite_.QueryInt("PRAGMA user_version"));
  BERTH_TRY(const std::int64_t tables, sqlite_.QueryInt("SELECT count(*) FROM sqlite_master"));
  BERTH_TRY(const std::int64_t application, sqlite_.QueryInt("PRAGMA application_id"));
  if (tables > 0 && application != kApplicationId) {
    return Error{ErrorCode::kForbidden,
                 path_ + " is a database of another program: name another file (--ledger)"};
  }
  if (version > kSchemaVersion) {
    return Error{ErrorCode::kForbidden,
                 "the ledger " + path_ + " has schema version " + std::to_string(version) +
                     ", this program knows versions up to " + std::to_string(kSchemaVersion) +
                     ": use a newer berth, or name another file (--ledger)"};
  }
  if (tables > 0) BERTH_CHECK_OK(CheckTables(sqlite_, version));
  std::error_code ignored;
  if (tables > 0 &&
      static_cast<std::int64_t>(std::filesystem::file_size(path_, ignored)) <= kQuickCheckBytes) {
    BERTH_TRY(const std::string verdict, sqlite_.QueryText("PRAGMA quick_check(1)"));
    if (verdict != "ok") return Error{ErrorCode::kInvalid, verdict};
  }
  // Only a file without tables takes the setting.
  if (tables == 0) BERTH_CHECK_OK(sqlite_.Execute("PRAGMA auto_vacuum=INCREMENTAL"));
  BERTH_CHECK_OK(sqlite_.Execute(kPragmas));
  for (; version < kSchemaVersion; ++version) {
    BERTH_CHECK_OK(sqlite_.Execute(MigrationFrom(version)));
  }
  return OkStatus();
}

Status LedgerFile::PrepareStatements() {
  const std::string columns = kAttemptColumns;
  const std::pair<Statement&, std::string> statements[] = {
      {get_attempt_, "SELECT " + columns + " FROM attempt WHERE uid=?1 AND attempt=?2"},
      {same_reservation_,
       "SELECT 1 FROM attempt WHERE uid=?1 AND attempt<?2 AND reserved=?3 AND ended>?3"},
      {put_attempt_, PutInto("attempt", kAttemptColumns)},
      {get_resources_,
       "SELECT flavor,resource,amount FROM resource WHERE uid=?1 AND attempt=?2 "
       "ORDER BY flavor,resource"},
      {clear_resources_, "DELETE FROM resource WHERE uid=?1 AND attempt=?2"},
      {put_resource_, "INSERT OR REPLACE INTO resource VALUES(?1,?2,?3,?4,?5)"},
      {last_wait_,
       "SELECT cause, (SELECT count(*) FROM wait WHERE uid=?1 AND attempt=?2) FROM wait "
       "WHERE uid=?1 AND attempt=?2 ORDER BY since DESC LIMIT 1"},
      {put_wait_, "INSERT OR REPLACE INTO wait VALUES(?1,?2,?3,?4)"},
      {end_deleted_,
       "UPDATE attempt SET ended=max(?2,coalesce(admitted,reserved,queued)), outcome='Deleted' "
       "WHERE uid=?1 AND outcome='' RETURNING 1"},
      {get_request_,
       std::string("SELECT ") + kRequestColumns + " FROM capacity_request WHERE uid=?1"},
      {put_request_, PutInto("capacity_request", kRequestColumns)},
      {get_node_, std::string("SELECT ") + kNodeTimeColumns + " FROM node_time WHERE id=?1"},
      {put_node_, PutInto("node_time", kNodeTimeColumns)},
      {last_price_,
       "SELECT hourly_nano FROM price WHERE flavor=?1 AND since<=?2 ORDER BY since DESC LIMIT 1"},
      {put_price_, "INSERT OR REPLACE INTO price VALUES(?1,?2,?3)"},
      {last_quota_,
       "SELECT nominal FROM quota WHERE cluster_queue=?1 AND resource=?2 AND since<=?3 "
       "ORDER BY since DESC LIMIT 1"},
      {put_quota_, PutInto("quota", kQuotaColumns)},
      {add_sample_, std::string("INSERT INTO pool_sample(") + kPoolSampleColumns +
                        ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8)" + kAddSample},
      {put_last_write_, "UPDATE meta SET value=?1 WHERE key='last_write'"}};
  for (const auto& [statement, sql] : statements) {
    BERTH_TRY(statement, sqlite_.Prepare(sql.c_str()));
  }
  return OkStatus();
}

Result<WriteCount> LedgerFile::Write(const std::vector<Record>& records, Seconds now) {
  BERTH_CHECK_OK(sqlite_.Execute("BEGIN IMMEDIATE"));
  WriteCount count;
  oldest_ = OldestAt(now);
  Status written = WriteAll(records, count);
  if (written) written = put_last_write_.Bind(1, now).Run();
  if (written) written = sqlite_.Execute("COMMIT");
  if (!written) {
    if (sqlite_.InTransaction()) (void)sqlite_.Execute("ROLLBACK");
    return written.error();
  }
  last_write_ = now;
  if (sqlite_.wal_pages() >= kCheckpointPages) {
    BERTH_CHECK_OK(sqlite_.Checkpoint(Sqlite::CheckpointMode::kPassive));
  }
  return count;
}

Status LedgerFile::WriteAll(const std::vector<Record>& records, WriteCount& count) {
  for (const Record& record : records) {
    BERTH_CHECK_OK(std::visit([&](const auto& each) { return Take(each, count); }, record));
  }
  return OkStatus();
}

Status LedgerFile::Take(const AttemptRecord& record, WriteCount& count) {
  BERTH_TRY(const std::optional<AttemptRecord> known, Known(record));
  if (!known) {
    BERTH_TRY(const bool earlier, IsOfEarlierRow(record));
    const bool forgotten = record.ended && *record.ended < oldest_;
    if (earlier || forgotten) return ++count.unchanged, OkStatus();
    if (full_) return ++count.refused, OkStatus();
  }
  bool changed = !known;
  if (known) {
    const AttemptRecord merged = Merged(*known, record);
    changed = merged != *known;
    if (changed) BERTH_CHECK_OK(PutAttempt(merged));
  } else {
    BERTH_CHECK_OK(PutAttempt(record));
  }
  BERTH_TRY(const bool other_resources, PutResources(record, !known));
  BERTH_TRY(const bool other_wait, PutWait(record));
  ++(changed || other_resources || other_wait ? count.changed : count.unchanged);
  return OkStatus();
}

Result<std::optional<AttemptRecord>> LedgerFile::Known(const AttemptRecord& record) {
  get_attempt_.Bind(1, std::string_view(record.uid)).Bind(2, record.attempt);
  BERTH_TRY(const bool row, get_attempt_.Step());
  if (!row) return std::optional<AttemptRecord>();
  std::optional<AttemptRecord> known = ReadAttempt(get_attempt_);
  get_attempt_.Reset();
  return known;
}

// A Workload that is being stopped may be evicted a second time, for another reason: the count of
// its evictions grows, and the reservation is the same.
Result<bool> LedgerFile::IsOfEarlierRow(const AttemptRecord& record) {
  if (!record.reserved) return false;
  same_reservation_.Bind(1, std::string_view(record.uid)).Bind(2, record.attempt);
  same_reservation_.Bind(3, *record.reserved);
  BERTH_TRY(const bool row, same_reservation_.Step());
  same_reservation_.Reset();
  return row;
}

Status LedgerFile::PutAttempt(const AttemptRecord& record) {
  BindAttempt(record, put_attempt_);
  return put_attempt_.Run();
}

Result<bool> LedgerFile::PutResources(const AttemptRecord& record, bool is_new) {
  if (record.resources.empty()) return false;
  std::vector<ResourceUse> known;
  if (!is_new) {
    get_resources_.Bind(1, std::string_view(record.uid)).Bind(2, record.attempt);
    while (true) {
      BERTH_TRY(const bool row, get_resources_.Step());
      if (!row) break;
      known.push_back({std::string(get_resources_.Text(0)), std::string(get_resources_.Text(1)),
                       get_resources_.Int(2)});
    }
  }
  if (known == record.resources) return false;
  clear_resources_.Bind(1, std::string_view(record.uid)).Bind(2, record.attempt);
  BERTH_CHECK_OK(clear_resources_.Run());
  for (const ResourceUse& use : record.resources) {
    put_resource_.Bind(1, std::string_view(record.uid)).Bind(2, record.attempt);
    put_resource_.Bind(3, std::string_view(use.flavor)).Bind(4, std::string_view(use.resource));
    BERTH_CHECK_OK(put_resource_.Bind(5, use.amount).Run());
  }
  return true;
}

Result<bool> LedgerFile::PutWait(const AttemptRecord& record) {
  if (record.waits.empty()) return false;
  const Wait& wait = record.waits.back();
  last_wait_.Bind(1, std::string_view(record.uid)).Bind(2, record.attempt);
  BERTH_TRY(const bool row, last_wait_.Step());
  const bool known = row && last_wait_.Text(0) == wait.cause;
  const bool many = row && last_wait_.Int(1) >= kMaxWaits;
  last_wait_.Reset();
  if (known || many) return false;
  // The first cause counts from the queueing.
  const Seconds since = row ? wait.since : record.queued;
  put_wait_.Bind(1, std::string_view(record.uid)).Bind(2, record.attempt).Bind(3, since);
  BERTH_CHECK_OK(put_wait_.Bind(4, std::string_view(wait.cause)).Run());
  return true;
}

Status LedgerFile::Take(const DeletedRecord& record, WriteCount& count) {
  end_deleted_.Bind(1, std::string_view(record.uid)).Bind(2, record.at);
  bool changed = false;
  while (true) {
    BERTH_TRY(const bool row, end_deleted_.Step());
    if (!row) break;
    changed = true;
  }
  ++(changed ? count.changed : count.unchanged);
  return OkStatus();
}

Status LedgerFile::Take(const PresentWorkloads& record, WriteCount& count) {
  BERTH_TRY(Statement open, sqlite_.Prepare("SELECT DISTINCT uid FROM attempt WHERE outcome=''"));
  std::vector<std::string> gone;
  while (true) {
    BERTH_TRY(const bool row, open.Step());
    if (!row) break;
    std::string uid(open.Text(0));
    if (!record.uids.contains(uid)) gone.push_back(std::move(uid));
  }
  for (const std::string& uid : gone) {
    BERTH_CHECK_OK(Take(DeletedRecord{uid, last_write_}, count));
  }
  return OkStatus();
}

Status LedgerFile::Take(const CapacityRecord& record, WriteCount& count) {
  get_request_.Bind(1, std::string_view(record.uid));
  BERTH_TRY(const bool row, get_request_.Step());
  std::optional<CapacityRecord> known;
  if (row) known = ReadRequest(get_request_);
  get_request_.Reset();
  const bool forgotten = record.ended.value_or(record.created) < oldest_;
  if (!known && forgotten) return ++count.unchanged, OkStatus();
  if (!known && full_) return ++count.refused, OkStatus();
  const CapacityRecord merged = known ? Merged(*known, record) : record;
  if (known && merged == *known) return ++count.unchanged, OkStatus();
  BindRequest(merged, put_request_);
  BERTH_CHECK_OK(put_request_.Run());
  ++count.changed;
  return OkStatus();
}

Status LedgerFile::Take(const PresentRequests& record, WriteCount& count) {
  const std::string query =
      std::string("SELECT ") + kRequestColumns + " FROM capacity_request WHERE outcome=''";
  BERTH_TRY(Statement open, sqlite_.Prepare(query.c_str()));
  std::vector<CapacityRecord> gone;
  while (true) {
    BERTH_TRY(const bool row, open.Step());
    if (!row) break;
    CapacityRecord known = ReadRequest(open);
    if (!record.uids.contains(known.uid)) gone.push_back(std::move(known));
  }
  for (CapacityRecord& each : gone) {
    each.ended = std::max(last_write_, each.created);
    each.outcome = kDeleted;
    BERTH_CHECK_OK(Take(each, count));
  }
  return OkStatus();
}

Status LedgerFile::Take(const NodeTimeRecord& record, WriteCount& count) {
  get_node_.Bind(1, std::string_view(record.id));
  BERTH_TRY(const bool row, get_node_.Step());
  std::optional<NodeTimeRecord> known;
  if (row) known = ReadNodeTime(get_node_);
  get_node_.Reset();
  if (!known && record.until < oldest_) return ++count.unchanged, OkStatus();
  if (!known && full_) return ++count.refused, OkStatus();
  const NodeTimeRecord merged = known ? Merged(*known, record) : record;
  if (known && merged == *known) return ++count.unchanged, OkStatus();
  BindNodeTime(merged, put_node_);
  BERTH_CHECK_OK(put_node_.Run());
  ++count.changed;
  return OkStatus();
}

Status LedgerFile::Take(const PriceRecord& record, WriteCount& count) {
  last_price_.Bind(1, std::string_view(record.flavor)).Bind(2, record.since);
  BERTH_TRY(const bool row, last_price_.Step());
  const std::optional<std::int64_t> known = row ? last_price_.MaybeInt(0) : std::nullopt;
  last_price_.Reset();
  if (known == record.hourly_nano) return ++count.unchanged, OkStatus();
  put_price_.Bind(1, std::string_view(record.flavor)).Bind(2, record.since);
  BERTH_CHECK_OK(put_price_.Bind(3, record.hourly_nano).Run());
  ++count.changed;
  return OkStatus();
}

// A queue without a row has no quota for the resource.
Status LedgerFile::Take(const QuotaRecord& record, WriteCount& count) {
  last_quota_.Bind(1, std::string_view(record.cluster_queue));
  last_quota_.Bind(2, std::string_view(record.resource)).Bind(3, record.since);
  BERTH_TRY(const bool row, last_quota_.Step());
  const api::Amount known = row ? last_quota_.Int(0) : 0;
  last_quota_.Reset();
  if (known == record.nominal) return ++count.unchanged, OkStatus();
  if (full_) return ++count.refused, OkStatus();
  BindQuota(record, put_quota_);
  BERTH_CHECK_OK(put_quota_.Run());
  ++count.changed;
  return OkStatus();
}

// Samples of the same minute are added: two writers may have sampled different seconds.
Status LedgerFile::Take(const PoolSampleRecord& record, WriteCount& count) {
  if (record.from < oldest_) return ++count.unchanged, OkStatus();
  if (full_) return ++count.refused, OkStatus();
  PoolSampleRecord row = record;
  row.span = kSampleSeconds;
  row.from -= row.from % kSampleSeconds;
  BindPoolSample(row, add_sample_);
  BERTH_CHECK_OK(add_sample_.Run());
  ++count.changed;
  return OkStatus();
}

Status LedgerFile::ThinSamples(Seconds now) {
  for (const Thinning& each : kThinnings) {
    const Seconds limit = (now - each.age) / each.into * each.into;
    const std::string into = std::to_string(each.into);
    const std::string old = " FROM pool_sample WHERE span=" + std::to_string(each.span) +
                            " AND since<" + std::to_string(limit);
    const std::string sql =
        std::string("BEGIN IMMEDIATE;INSERT INTO pool_sample(") + kPoolSampleColumns +
        ") SELECT pool," + into + ",since/" + into + "*" + into +
        " AS part,sum(seconds),sum(ready),sum(booting),sum(idle),sum(idle_seconds)" + old +
        " GROUP BY pool, part" + kAddSample + ";DELETE" + old + ";COMMIT;";
    BERTH_CHECK_OK(sqlite_.Execute(sql.c_str()));
  }
  return OkStatus();
}

Status LedgerFile::Trim(Seconds now) {
  BERTH_CHECK_OK(ThinSamples(now));
  const Seconds oldest = OldestAt(now);
  const std::string sql =
      "BEGIN IMMEDIATE;"
      "DELETE FROM resource WHERE (uid, attempt) IN "
      "(SELECT uid, attempt FROM attempt WHERE ended<" +
      std::to_string(oldest) +
      ");"
      "DELETE FROM wait WHERE (uid, attempt) IN "
      "(SELECT uid, attempt FROM attempt WHERE ended<" +
      std::to_string(oldest) +
      ");"
      "DELETE FROM attempt WHERE ended<" +
      std::to_string(oldest) +
      ";"
      "DELETE FROM capacity_request WHERE coalesce(ended, created)<" +
      std::to_string(oldest) + ";DELETE FROM node_time WHERE until<" + std::to_string(oldest) +
      ";DELETE FROM pool_sample WHERE since<" + std::to_string(oldest) +
      ";DELETE FROM price WHERE EXISTS (SELECT 1 FROM price AS later WHERE "
      "later.flavor=price.flavor"
      " AND later.since>price.since AND later.since<" +
      std::to_string(oldest) +
      ");DELETE FROM quota WHERE EXISTS (SELECT 1 FROM quota AS later WHERE "
      "later.cluster_queue=quota.cluster_queue AND later.resource=quota.resource"
      " AND later.since>quota.since AND later.since<" +
      std::to_string(oldest) + ");COMMIT;";
  BERTH_CHECK_OK(sqlite_.Execute(sql.c_str()));
  full_ = false;
  for (int round = 0; round < kTrimRounds; ++round) {
    BERTH_TRY(const bool large, IsTooLarge());
    if (!large) break;
    BERTH_TRY(const bool removed, RemoveOldest());
    if (!removed) {
      full_ = true;
      break;
    }
  }
  BERTH_CHECK_OK(sqlite_.Execute("PRAGMA incremental_vacuum"));
  return sqlite_.Checkpoint(Sqlite::CheckpointMode::kPassive);
}

Result<std::int64_t> LedgerFile::BytesInUse() {
  BERTH_TRY(const std::int64_t page, sqlite_.QueryInt("PRAGMA page_size"));
  BERTH_TRY(const std::int64_t pages, sqlite_.QueryInt("PRAGMA page_count"));
  BERTH_TRY(const std::int64_t unused, sqlite_.QueryInt("PRAGMA freelist_count"));
  return (pages - unused) * page;
}

Result<bool> LedgerFile::IsTooLarge() {
  BERTH_TRY(const std::int64_t bytes, BytesInUse());
  return bytes > limits_.bytes;
}

// Returns false where nothing is left that has ended.
Result<bool> LedgerFile::RemoveOldest() {
  const std::string among = std::string(" WHERE (uid, attempt) IN ") + kOldestAttempts + ";";
  BERTH_TRY(const std::int64_t ended,
            sqlite_.QueryInt("SELECT count(*) FROM (SELECT 1 FROM attempt WHERE ended IS NOT NULL "
                             "LIMIT 1)"));
  if (ended == 0) {
    BERTH_TRY(const std::int64_t requests,
              sqlite_.QueryInt("SELECT count(*) FROM capacity_request"));
    if (requests == 0) return RemoveOldestNodes();
    BERTH_CHECK_OK(
        sqlite_.Execute("DELETE FROM capacity_request WHERE uid IN "
                        "(SELECT uid FROM capacity_request ORDER BY created LIMIT 500)"));
    return true;
  }
  const std::string sql = "BEGIN IMMEDIATE;DELETE FROM resource" + among + "DELETE FROM wait" +
                          among + "DELETE FROM attempt" + among +
                          "DELETE FROM node_time WHERE until<(SELECT min(ended) FROM attempt WHERE "
                          "ended IS NOT NULL);"
                          "DELETE FROM pool_sample WHERE since<(SELECT min(ended) FROM attempt "
                          "WHERE ended IS NOT NULL);COMMIT;";
  BERTH_CHECK_OK(sqlite_.Execute(sql.c_str()));
  return true;
}

Result<bool> LedgerFile::RemoveOldestNodes() {
  BERTH_TRY(const std::int64_t gone,
            sqlite_.QueryInt("SELECT count(*) FROM node_time WHERE stands=0"));
  if (gone == 0) return false;
  BERTH_CHECK_OK(
      sqlite_.Execute("DELETE FROM node_time WHERE id IN "
                      "(SELECT id FROM node_time WHERE stands=0 ORDER BY until LIMIT 500)"));
  return true;
}

Status LedgerFile::Close() { return sqlite_.Checkpoint(Sqlite::CheckpointMode::kTruncate); }

}  // namespace berth::ledger

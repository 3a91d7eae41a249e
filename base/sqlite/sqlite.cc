#include "base/sqlite/sqlite.h"

#include <cerrno>

#include <sqlite3.h>

namespace berth {
namespace {

ErrorCode CodeOf(int result) {
  switch (result & 0xFF) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return ErrorCode::kInvalid;
    default: return ErrorCode::kUnavailable;
  }
}

// The way out of an error, if known.
std::string_view Hint(int result, sqlite3* handle) {
  constexpr std::string_view kFreeSpace = "; free some space on the disk";
  switch (result & 0xFF) {
    case SQLITE_FULL: return kFreeSpace;
    case SQLITE_IOERR: {
      const int reason = handle == nullptr ? 0 : sqlite3_system_errno(handle);
      if (reason == ENOSPC || reason == EDQUOT) return kFreeSpace;
      return "; see whether the disk is full, read-only or failing";
    }
    case SQLITE_READONLY: return "; make it writable or choose another data directory";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return "; restore a copy, or start anew with an empty data directory";
    default: return "";
  }
}

Error StatementError(sqlite3_stmt* statement) {
  sqlite3* handle = sqlite3_db_handle(statement);
  const int code = sqlite3_extended_errcode(handle);
  return Error{CodeOf(code), std::string(sqlite3_errmsg(handle)) + " (SQLite " +
                                 std::to_string(code) + ")" + std::string(Hint(code, handle))};
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement& Statement::Bind(int position, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), position, value);
  return *this;
}

Statement& Statement::Bind(int position, std::string_view text) {
  // A null pointer would bind NULL.
  const char* data = text.data() == nullptr ? "" : text.data();
  sqlite3_bind_text64(statement_.get(), position, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Statement& Statement::Bind(int position, const std::optional<std::int64_t>& value) {
  if (value) return Bind(position, *value);
  sqlite3_bind_null(statement_.get(), position);
  return *this;
}

Result<bool> Statement::Step() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) {
    sqlite3_reset(statement_.get());
    return false;
  }
  const Error error = StatementError(statement_.get());
  sqlite3_reset(statement_.get());
  return error;
}

Status Statement::Run() {
  while (true) {
    BERTH_TRY(const bool row, Step());
    if (!row) return OkStatus();
  }
}

void Statement::Reset() { sqlite3_reset(statement_.get()); }

std::int64_t Statement::Int(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::optional<std::int64_t> Statement::MaybeInt(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return Int(column);
}

std::string_view Statement::Text(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr
             ? std::string_view()
             : std::string_view(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

void Sqlite::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

Result<Sqlite> Sqlite::Open(const std::string& path) {
  return OpenWith(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
}

Result<Sqlite> Sqlite::OpenForReading(const std::string& path) {
  return OpenWith(path, SQLITE_OPEN_READONLY);
}

Result<Sqlite> Sqlite::OpenWith(const std::string& path, int flags) {
  Sqlite database;
  database.path_ = path;
  sqlite3* handle = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  database.handle_.reset(handle);
  if (result != SQLITE_OK) return database.LastError("opening");
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, 2000);
  const auto count = [](void* pages, sqlite3*, const char*, int in_log) {
    *static_cast<int*>(pages) = in_log;
    return SQLITE_OK;
  };
  sqlite3_wal_hook(handle, count, database.wal_pages_.get());
  return database;
}

Error Sqlite::LastError(std::string_view doing) const {
  const int code = sqlite3_extended_errcode(handle_.get());
  return Error{CodeOf(code), std::string(doing) + " " + path_ + ": " +
                                 sqlite3_errmsg(handle_.get()) + " (SQLite " +
                                 std::to_string(code) + ")" +
                                 std::string(Hint(code, handle_.get()))};
}

Status Sqlite::Execute(const char* sql) {
  if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    return LastError("writing");
  }
  return OkStatus();
}

Result<Statement> Sqlite::Prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(handle_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) !=
      SQLITE_OK) {
    return LastError("reading");
  }
  return Statement(statement);
}

Result<std::int64_t> Sqlite::QueryInt(const char* sql) {
  BERTH_TRY(Statement statement, Prepare(sql));
  BERTH_TRY(const bool row, statement.Step());
  return row ? statement.Int(0) : 0;
}

Result<std::string> Sqlite::QueryText(const char* sql) {
  BERTH_TRY(Statement statement, Prepare(sql));
  BERTH_TRY(const bool row, statement.Step());
  return row ? std::string(statement.Text(0)) : std::string();
}

Status Sqlite::Checkpoint(CheckpointMode mode) {
  *wal_pages_ = 0;
  const int how =
      mode == CheckpointMode::kPassive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE;
  if (sqlite3_wal_checkpoint_v2(handle_.get(), nullptr, how, nullptr, nullptr) != SQLITE_OK) {
    return LastError("folding the write-ahead log into");
  }
  return OkStatus();
}

bool Sqlite::InTransaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }

bool Sqlite::LeftDiskUnknown() const {
  const int code = sqlite3_extended_errcode(handle_.get());
  if (code == SQLITE_FULL) return false;
  if (code != SQLITE_IOERR_WRITE) return true;
  // The file handle of the log has the cause; the clean-up has overwritten sqlite3_system_errno.
  sqlite3_file* log = nullptr;
  int reason = 0;
  sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_JOURNAL_POINTER,
                       static_cast<void*>(&log));
  if (log == nullptr || log->pMethods == nullptr) return true;
  log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &reason);
  return reason != EFBIG && reason != ENOSPC && reason != EDQUOT;
}

bool Sqlite::FailedToSync() const {
  const int code = sqlite3_extended_errcode(handle_.get());
  return code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC;
}

bool Sqlite::IsReadOnly() const { return sqlite3_db_readonly(handle_.get(), "main") == 1; }

}  // namespace berth

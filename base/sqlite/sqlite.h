// base/sqlite/sqlite.h — prepared statements and errors of SQLite, as Results.
//
// The write-ahead log is checkpointed in Checkpoint only, whose caller gets the errors.
//
// Threads: one at a time; SQLite is opened without its own locks (NOMUTEX).
// Errors: kInvalid (no database, damaged), kUnavailable (others).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace berth {

class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  // Positions count from 1. The text must live until the next Run, Step or Reset.
  Statement& Bind(int position, std::int64_t value);
  Statement& Bind(int position, std::string_view text);
  Statement& Bind(int position, const std::optional<std::int64_t>& value);  // nullopt: NULL

  // Runs to the end and resets.
  Status Run();
  // True: a row is available. False: no more rows; the statement is reset.
  Result<bool> Step();
  void Reset();

  std::int64_t Int(int column) const;                      // columns count from 0
  std::optional<std::int64_t> MaybeInt(int column) const;  // nullopt: NULL
  std::string_view Text(int column) const;                 // valid until the next Step

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Sqlite {
 public:
  // Creates the file if it does not exist.
  static Result<Sqlite> Open(const std::string& path);
  // Opens an existing file that another process may write. No statement changes the content.
  static Result<Sqlite> OpenForReading(const std::string& path);

  Status Execute(const char* sql);
  Result<Statement> Prepare(const char* sql);
  Result<std::int64_t> QueryInt(const char* sql);
  Result<std::string> QueryText(const char* sql);
  bool IsReadOnly() const;
  // Pages of the write-ahead log after the last commit.
  int wal_pages() const { return *wal_pages_; }
  enum class CheckpointMode { kPassive, kTruncate };
  Status Checkpoint(CheckpointMode mode);
  bool InTransaction() const;
  // Whether the content of the disk is unknown after the last failed call: true for every failure
  // but a write to a full disk.
  bool LeftDiskUnknown() const;
  // Whether the last failed call was an fsync.
  bool FailedToSync() const;
  // The error of the last failed call, with its code.
  Error LastError(std::string_view doing) const;

 private:
  static Result<Sqlite> OpenWith(const std::string& path, int flags);

  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::string path_;
  std::unique_ptr<int> wal_pages_ = std::make_unique<int>(0);  // written by a hook of the handle
  std::unique_ptr<sqlite3, Close> handle_;
};

}  // namespace berth

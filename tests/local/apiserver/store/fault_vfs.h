// tests/local/apiserver/store/fault_vfs.h — a file system for SQLite that fails on demand and loses
// unsynced writes.
//
//   SQLite ─▶ FaultVfs (the default one while it lives) ─▶ the file system that was the default
//
// A file is its content at the last sync, and a list of writes since. Lose() keeps of those writes
// a selection by seed: all, none, some, halves. After a failed sync the writes before it are lost:
// no later sync makes them durable.
//
// Threads: any thread; one instance at a time. Arm faults, and call Lose, between writes.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <sqlite3.h>

namespace berth::local {

class FaultVfs {
 public:
  FaultVfs();
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  enum class WriteFault {
    kNoSpace,     // nothing is written
    kShort,       // half is written, then there is no space
    kError,       // EIO, nothing is written
    kFalseError,  // EIO, though everything is written
    kPowerOff,    // nothing is written, now or later
  };
  // Fails the `nth` write or sync (from 0, from now on) of a file with the `suffix`, once.
  void FailWrite(int nth, WriteFault fault, std::string suffix = "");
  void FailSync(int nth, std::string suffix = "");
  // Syncs succeed and make nothing durable.
  void IgnoreSyncs() { ignore_syncs_ = true; }
  bool has_failed() const { return has_failed_; }

  // Leaves the state after a power failure. Every database must be closed.
  void Lose(std::uint64_t seed);

  // The functions below are called by SQLite.
  int Open(const char* name, sqlite3_file* file, int flags, int* out_flags);
  int Delete(const char* name, int sync_folder);
  int Write(const std::string& name, sqlite3_file* real, const void* data, int size,
            sqlite3_int64 offset);
  int Truncate(const std::string& name, sqlite3_file* real, sqlite3_int64 size);
  int Sync(const std::string& name, sqlite3_file* real, int flags);
  int last_errno() const { return last_errno_; }

 private:
  struct Change {
    bool is_truncation = false;
    sqlite3_int64 offset = 0;  // a truncation: the new size
    std::string data;
    bool is_doomed = false;
  };
  struct File {
    std::string durable;
    std::vector<Change> since;
  };
  struct Fault {
    int countdown = -1;  // negative: not armed
    std::string suffix;
    bool Strikes(std::string_view name);
  };

  static void Apply(const Change& change, std::string& content);
  int FailOne(const std::string& name, sqlite3_file* real, const void* data, int size,
              sqlite3_int64 offset);

  sqlite3_vfs* const real_;
  sqlite3_vfs vfs_;
  std::mutex mutex_;
  std::map<std::string, File> files_;
  Fault write_fault_;
  WriteFault write_fault_kind_ = WriteFault::kNoSpace;
  Fault sync_fault_;
  bool ignore_syncs_ = false;
  bool is_off_ = false;
  bool has_failed_ = false;
  int last_errno_ = 0;
};

}  // namespace berth::local

#include "program/data_directory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log/log.h"
#include "local/apiserver/store/file_lock.h"

namespace berth::program {
namespace {

namespace fs = std::filesystem;

// What a file of SQLite begins with, and where it has the number of the program that made it.
// Source: SQLite, "Database File Format".
constexpr std::string_view kSqliteMark = "SQLite format 3";
constexpr std::size_t kSqliteHead = 100;
constexpr std::size_t kApplicationAt = 68;
constexpr std::string_view kApplication = "BRTH";  // local/apiserver/store/database.cc
constexpr char kPart[] = ".part";  // the end of the name of a copy that is not whole yet
constexpr std::array kStateFiles{"state.db",  "state.db-wal",  "state.db-shm",
                                 "ledger.db", "ledger.db-wal", "ledger.db-shm"};

Error Refuse(const std::string& path, const std::string& why) {
  return {ErrorCode::kInvalid, "data directory: " + path + " " + why};
}

Error SystemError(const std::string& path) {
  return {ErrorCode::kUnavailable,
          "data directory " + path + ": " + std::strerror(errno) + " (choose another: --data-dir)"};
}

// Checks that the open `file` is a folder or a file of this user, and sets its mode.
Status CloseToOthers(int file, const std::string& path, bool is_folder) {
  struct stat info {};
  if (fstat(file, &info) != 0) return SystemError(path);
  if (info.st_uid != geteuid()) {
    return Refuse(path, "belongs to user " + std::to_string(info.st_uid) +
                            ", not to the user of this process: choose another folder "
                            "(--data-dir), or change its owner");
  }
  if (!is_folder && !S_ISREG(info.st_mode)) return Refuse(path, "is not a regular file: remove it");
  const mode_t mode = is_folder ? 0700 : 0600;
  if ((info.st_mode & 07777) == mode || fchmod(file, mode) == 0) return OkStatus();
  return SystemError(path);
}

// Removes the rights of group and others. Follows no symbolic link.
Status MakePrivate(const std::string& path, bool is_folder) {
  const int kind = is_folder ? O_DIRECTORY : O_NONBLOCK;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the POSIX call
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind);
  if (file < 0 && errno == ENOENT) return OkStatus();
  if (file < 0) {
    struct stat info {};
    if (lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode)) {
      return Refuse(path, "is a symbolic link: name the place itself, or remove the link");
    }
    return SystemError(path);
  }
  Status closed = CloseToOthers(file, path, is_folder);
  close(file);
  return closed;
}

// A folder that others may use becomes private only if it is a cluster's, or empty.
Status CheckMayBeOurs(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return OkStatus();
  if ((info.st_mode & 0077) == 0 || info.st_uid != geteuid()) return OkStatus();
  std::error_code error;
  if (fs::is_empty(path, error) || fs::exists(path + "/state.db", error)) return OkStatus();
  return Refuse(path,
                "holds other files, and other users can read it: choose an empty folder "
                "(--data-dir), or chmod 700 this one");
}

// Waits until a file, or the names in a folder, are on the disk.
Status Synchronize(const std::string& path) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the POSIX call
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return SystemError(path);
  Status done = OkStatus();
  if (fsync(file) != 0) done = SystemError(path);
  close(file);
  return done;
}

Status CopyPrivately(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (error) return Error{ErrorCode::kUnavailable, "--restore: " + to + ": " + error.message()};
  BERTH_CHECK_OK(MakePrivate(to, false));
  return Synchronize(to);
}

Status Reset(const std::string& path) {
  BERTH_TRY(const auto lock, local::FileLock::Acquire(path + "/state.db.lock"));
  std::error_code error;
  std::vector<std::string> gone{path + "/pods", path + "/" + kPageSessions,
                                JobsDirectory(path) + "/claims"};
  for (const char* name : kStateFiles) gone.push_back(path + "/" + name);
  gone.push_back(path + "/state.db" + kPart);
  for (const std::string& each : gone) {
    fs::remove_all(each, error);
    if (error) return Error{ErrorCode::kUnavailable, "--reset: " + each + ": " + error.message()};
  }
  return OkStatus();
}

std::string DefaultDataDirectory() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread
  if (const char* data_home = std::getenv("XDG_DATA_HOME"); data_home != nullptr && *data_home) {
    return std::string(data_home) + "/berth";
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "." : home) + "/.local/share/berth";
}

}  // namespace

std::string DataDirectory(const std::string& flag) {
  const fs::path path =
      fs::absolute(flag.empty() ? DefaultDataDirectory() : flag).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).string();
}

Status PrepareDataDirectory(const std::string& path, bool reset) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return SystemError(path);
  BERTH_CHECK_OK(CheckMayBeOurs(path));
  BERTH_CHECK_OK(MakePrivate(path, true));
  for (const char* name : {"/pki", "/pods"}) BERTH_CHECK_OK(MakePrivate(path + name, true));
  for (const char* name : kStateFiles) BERTH_CHECK_OK(MakePrivate(path + "/" + name, false));
  for (const char* name : {"/state.db.lock", "/kubeconfig"}) {
    BERTH_CHECK_OK(MakePrivate(path + name, false));
  }
  for (const auto& key : fs::directory_iterator(path + "/pki", error)) {
    BERTH_CHECK_OK(MakePrivate(key.path(), false));
  }
  if (reset) return Reset(path);
  if (HasKeysAlone(path)) {
    LogWarning(
        "the cluster starts empty, with the keys of an earlier cluster, whose state is missing",
        {{"file", path + "/state.db"}, {"back", "restore a copy, or say --reset"}});
  }
  return OkStatus();
}

Status CheckBackup(const std::string& path, const std::string& backup) {
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(path, error);
  if (fs::weakly_canonical(fs::path(backup).parent_path(), error) == folder) {
    return Error{ErrorCode::kInvalid,
                 "--restore: " + backup + " lies in the data directory: move it to another folder"};
  }
  std::ifstream file(backup, std::ios::binary);
  std::array<char, kSqliteHead> head{};
  if (!file) {
    return Error{ErrorCode::kNotFound, "--restore: " + backup + ": " + std::strerror(errno)};
  }
  file.read(head.data(), head.size());
  const std::string_view text(head.data(), static_cast<std::size_t>(file.gcount()));
  if (!text.starts_with(kSqliteMark) || text.size() < head.size() ||
      text.substr(kApplicationAt, kApplication.size()) != kApplication) {
    return Error{ErrorCode::kInvalid,
                 "--restore: " + backup + " is no copy that `berth backup` has written"};
  }
  return OkStatus();
}

Status RestoreState(const std::string& path, const std::string& backup) {
  BERTH_TRY(const auto lock, local::FileLock::Acquire(path + "/state.db.lock"));
  BERTH_CHECK_OK(CheckBackup(path, backup));
  const std::string state = path + "/state.db";
  std::error_code error;
  for (const std::string& each : {state, state + "-wal"}) {
    if (fs::file_size(each, error) == 0 || error) continue;
    return Error{ErrorCode::kAlreadyExists,
                 "--restore: " + path +
                     " has a cluster: name another folder (--data-dir), or say --reset, too"};
  }
  // SQLite would play a log that lies beside the file into the file.
  for (const char* end : {"-wal", "-shm"}) fs::remove(state + end, error);
  const std::string part = state + kPart;
  Status copied = CopyPrivately(backup, part);
  if (!copied) {
    fs::remove(part, error);
    return copied;
  }
  fs::rename(part, state, error);
  if (error) return Error{ErrorCode::kUnavailable, "--restore: " + state + ": " + error.message()};
  return Synchronize(path);
}

bool HasKeysAlone(const std::string& path) {
  const auto has = [&path](const char* name) {
    std::error_code error;
    return fs::file_size(path + name, error) > 0 && !error;
  };
  return has("/pki/ca.key") && !has("/state.db") && !has("/state.db-wal");
}

std::string JobsDirectory(const std::string& data_directory) { return data_directory + "-jobs"; }

}  // namespace berth::program

#include "readapi/controller/session_folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strings.h"

namespace berth::readapi {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "1";
constexpr std::size_t kHashDigits = 64;
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{64} * 1024;

Error FolderError(const std::string& path, const std::string& why) {
  return {ErrorCode::kUnavailable, "sessions of the page: " + path + ": " + why};
}

bool IsHash(std::string_view text) {
  return text.size() == kHashDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

WallTime TimeOf(const timespec& time) {
  return WallTime(std::chrono::duration_cast<Duration>(std::chrono::seconds(time.tv_sec) +
                                                       std::chrono::nanoseconds(time.tv_nsec)));
}

// Whether nothing but sessions is there.
bool HoldsSessionsOnly(const std::string& path) {
  std::error_code error;
  fs::directory_iterator entries(path, error);
  return !error && std::all_of(begin(entries), end(entries), [](const fs::directory_entry& entry) {
    return IsHash(entry.path().filename().string());
  });
}

// nullopt: it cannot be parsed.
std::optional<StoredSession> ReadSession(const fs::path& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return std::nullopt;
  if (!S_ISREG(info.st_mode) || static_cast<std::uintmax_t>(info.st_size) > kMaxFileBytes) {
    return std::nullopt;
  }
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::vector<std::string_view> words = Split(TrimSpace(text), ' ');
  constexpr std::size_t kWords = 4;
  if (words.size() != kWords || words[0] != kFormat || !IsHash(words[1])) return std::nullopt;
  const std::optional<std::int64_t> until = ParseInt64(words[2]);
  std::optional<std::string> sealed = Base64UrlDecode(words[3]);
  if (!until || !sealed) return std::nullopt;
  return StoredSession{.hash = path.filename().string(),
                       .user_hash = std::string(words[1]),
                       .until = *until,
                       .sealed = *std::move(sealed),
                       .used_at = TimeOf(info.st_mtim)};
}

}  // namespace

Result<SessionFolder> SessionFolder::Open(const std::string& path) {
  constexpr mode_t kOwnerOnly = 0700;
  if (mkdir(path.c_str(), kOwnerOnly) != 0 && errno != EEXIST) {
    return FolderError(path, std::strerror(errno));
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the POSIX call
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return FolderError(path, std::strerror(errno));
  struct stat info {};
  const bool is_ours = fstat(folder, &info) == 0 && info.st_uid == geteuid();
  const bool is_own = is_ours && HoldsSessionsOnly(path);
  const bool is_closed = is_own && fchmod(folder, kOwnerOnly) == 0;
  close(folder);
  if (!is_own) {
    return Error{ErrorCode::kInvalid,
                 "sessions of the page: " + path +
                     (is_ours ? " holds other things" : " belongs to another user") +
                     ": name a folder of its own"};
  }
  if (!is_closed) return FolderError(path, "its mode cannot be set to 0700");
  return SessionFolder(path);
}

std::vector<StoredSession> SessionFolder::Read(std::size_t most) const {
  std::vector<StoredSession> sessions;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path_, error)) {
    if (std::optional<StoredSession> session = ReadSession(entry.path())) {
      sessions.push_back(*std::move(session));
    } else {
      unlink(entry.path().c_str());
    }
  }
  std::sort(sessions.begin(), sessions.end(), [](const auto& a, const auto& b) {
    return std::pair(a.until, a.hash) < std::pair(b.until, b.hash);
  });
  const std::size_t surplus = sessions.size() - std::min(sessions.size(), most);
  for (std::size_t i = 0; i < surplus; ++i) Remove(sessions[i].hash);
  sessions.erase(sessions.begin(), sessions.begin() + static_cast<std::ptrdiff_t>(surplus));
  return sessions;
}

// A part of a text is no session: it cannot be unsealed.
Status SessionFolder::Write(const StoredSession& session) const {
  const std::string path = PathOf(session.hash);
  constexpr mode_t kOwnerOnly = 0600;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the POSIX call
  const int file =
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnerOnly);
  if (file < 0) return FolderError(path, std::strerror(errno));
  const std::string text = std::string(kFormat) + " " + session.user_hash + " " +
                           std::to_string(session.until) + " " + Base64UrlEncode(session.sealed) +
                           "\n";
  const ssize_t written = write(file, text.data(), text.size());
  const int failure = errno;
  close(file);
  if (written != static_cast<ssize_t>(text.size())) {
    Remove(session.hash);
    return FolderError(path, written < 0 ? std::strerror(failure) : "no space is left");
  }
  Touch(session.hash, session.used_at);
  return OkStatus();
}

void SessionFolder::Touch(const std::string& hash, WallTime used_at) const {
  const auto since = used_at.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  const timespec time{.tv_sec = seconds.count(),
                      .tv_nsec = std::chrono::nanoseconds(since - seconds).count()};
  const std::array<timespec, 2> both{time, time};
  utimensat(AT_FDCWD, PathOf(hash).c_str(), both.data(), AT_SYMLINK_NOFOLLOW);
}

void SessionFolder::Remove(const std::string& hash) const { unlink(PathOf(hash).c_str()); }

}  // namespace berth::readapi

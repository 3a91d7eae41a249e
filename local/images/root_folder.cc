#include "local/images/root_folder.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/strings.h"
#include "local/images/image_errors.h"

namespace berth::local::images {
namespace {

constexpr std::size_t kMostParts = 256;
constexpr std::size_t kMostPartBytes = 255;
constexpr int kMostDepth = 512;

std::string Joined(const std::vector<std::string>& parts, std::size_t count) {
  std::string path;
  for (std::size_t at = 0; at < count; ++at) path += "/" + parts[at];
  return path.empty() ? "/" : path;
}

Status RemoveTree(int folder, const std::string& name, int depth) {
  if (unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) return OkStatus();
  if (errno != EISDIR && errno != EPERM) return SystemFailure("remove " + name);
  if (depth > kMostDepth) return RefuseImage("remove " + name + ": too many folders in each other");
  const OwnFile inner(
      openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!inner.is_open()) return SystemFailure("remove " + name);
  BERTH_TRY(const std::vector<std::string> entries, EntriesOf(inner.get()));
  for (const std::string& entry : entries) {
    BERTH_CHECK_OK(RemoveTree(inner.get(), entry, depth + 1));
  }
  if (unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0) return OkStatus();
  return SystemFailure("remove " + name);
}

}  // namespace

OwnFile::OwnFile(OwnFile&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

OwnFile& OwnFile::operator=(OwnFile&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

OwnFile::~OwnFile() {
  if (file_ >= 0) close(file_);
}

Result<std::vector<std::string>> PathParts(std::string_view path) {
  std::vector<std::string> parts;
  if (path.find('\0') != std::string_view::npos) return RefuseImage("a path has a zero byte");
  for (const std::string_view part : Split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return RefuseImage(fmt::format("the path \"{}\" has \"..\"", path));
    if (part.size() > kMostPartBytes) {
      return RefuseImage(fmt::format("a name of the path \"{}\" is too long", path.substr(0, 100)));
    }
    parts.emplace_back(part);
    if (parts.size() > kMostParts) {
      return RefuseImage(fmt::format("the path \"{}\" has too many names", path.substr(0, 100)));
    }
  }
  return parts;
}

RootFolder::RootFolder(OwnFile folder, std::string path)
    : folder_(std::move(folder)), path_(std::move(path)) {}

Result<RootFolder> RootFolder::Open(const std::string& path) {
  OwnFile folder(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return SystemFailure(path);
  char real[PATH_MAX];
  if (realpath(path.c_str(), real) == nullptr) return SystemFailure(path);
  return RootFolder(std::move(folder), real);
}

int RootFolder::OpenIn(const std::string& path, int flags) const {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  // The kernel asks for another attempt when something in the folder is renamed meanwhile.
  for (int attempt = 0; attempt < 100; ++attempt) {
    const long file = syscall(SYS_openat2, folder_.get(), path.c_str(), &how, sizeof(how));
    if (file >= 0 || errno != EAGAIN) return static_cast<int>(file);
  }
  return -1;
}

Result<OwnFile> RootFolder::FindFolder(const std::vector<std::string>& parts) const {
  const std::string path = Joined(parts, parts.size());
  OwnFile folder(OpenIn(path, O_RDONLY | O_DIRECTORY));
  if (folder.is_open()) return folder;
  if (errno == ENOENT || errno == ENOTDIR) return Error{ErrorCode::kNotFound, path};
  if (errno == ELOOP) return RefuseImage(path + ": its links lead in a circle");
  return SystemFailure(path);
}

Result<OwnFile> RootFolder::MakeFolder(const std::vector<std::string>& parts) const {
  auto folder = FindFolder(parts);
  if (folder || folder.error().code != ErrorCode::kNotFound) return folder;
  for (std::size_t count = 1; count <= parts.size(); ++count) {
    const OwnFile parent(OpenIn(Joined(parts, count - 1), O_RDONLY | O_DIRECTORY));
    if (!parent.is_open()) return SystemFailure(Joined(parts, count - 1));
    const char* name = parts[count - 1].c_str();
    // This process' umask closes new folders to other users.
    const bool is_made = mkdirat(parent.get(), name, 0755) == 0
                             ? fchmodat(parent.get(), name, 0755, 0) == 0
                             : errno == EEXIST;
    if (!is_made) return SystemFailure(Joined(parts, count));
  }
  folder = FindFolder(parts);
  if (folder || folder.error().code != ErrorCode::kNotFound) return folder;
  return RefuseImage(Joined(parts, parts.size()) + ": something on the way is not a folder");
}

std::optional<std::string> RootFolder::ReadFile(const std::string& path, std::size_t most) const {
  const OwnFile file(OpenIn(path, O_RDONLY | O_NONBLOCK));
  struct stat info {};
  if (!file.is_open() || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return std::nullopt;
  }
  std::string text(std::min(most, static_cast<std::size_t>(info.st_size)), '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t count = read(file.get(), text.data() + got, text.size() - got);
    if (count <= 0) break;
    got += static_cast<std::size_t>(count);
  }
  text.resize(got);
  return text;
}

bool RootFolder::IsProgram(const std::string& path) const {
  const OwnFile file(OpenIn(path, O_PATH));
  struct stat info {};
  return file.is_open() && fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) &&
         (info.st_mode & 0111) != 0;
}

Result<RootFolder::Location> RootFolder::Locate(const std::string& path) const {
  BERTH_TRY(const std::vector<std::string> parts, PathParts(path));
  for (std::size_t count = parts.size() + 1; count-- > 0;) {
    const OwnFile file(OpenIn(Joined(parts, count), O_PATH));
    if (!file.is_open()) {
      if (errno == ENOENT || errno == ENOTDIR) continue;
      return RefuseImage(Joined(parts, count) + ": " + std::strerror(errno));
    }
    struct stat info {};
    char real[PATH_MAX];
    const std::string link = "/proc/self/fd/" + std::to_string(file.get());
    const ssize_t size = readlink(link.c_str(), real, sizeof(real));
    if (fstat(file.get(), &info) != 0 || size <= 0) return SystemFailure(path);
    std::string existing(real, static_cast<std::size_t>(size));
    if (existing != path_ && !existing.starts_with(path_ == "/" ? path_ : path_ + "/")) {
      return RefuseImage(path + ": is not in the image");
    }
    if (path_ != "/") existing.erase(0, path_.size());
    Location location{existing.empty() ? "/" : existing, "", S_ISDIR(info.st_mode)};
    if (count == parts.size()) return location;
    struct stat link_info {};
    if (!location.is_folder) return RefuseImage(Joined(parts, count) + ": is not a folder");
    if (fstatat(file.get(), parts[count].c_str(), &link_info, AT_SYMLINK_NOFOLLOW) == 0) {
      return RefuseImage(Joined(parts, count + 1) + ": is a link that leads nowhere");
    }
    for (std::size_t at = count; at < parts.size(); ++at) {
      location.missing += (at == count ? "" : "/") + parts[at];
    }
    return location;
  }
  return SystemFailure(path_);
}

Result<std::vector<std::string>> EntriesOf(int folder) {
  const int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = own < 0 ? nullptr : fdopendir(own);
  if (entries == nullptr) {
    if (own >= 0) close(own);
    return SystemFailure("list a folder");
  }
  std::vector<std::string> names;
  while (const dirent* entry = readdir(entries)) {  // NOLINT(concurrency-mt-unsafe): its own stream
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  closedir(entries);
  return names;
}

Status RemoveEntry(int folder, const std::string& name) { return RemoveTree(folder, name, 0); }

}  // namespace berth::local::images

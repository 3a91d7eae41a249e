#include "local/cluster/kubelet/volume_payload.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

namespace berth::local::cluster {
namespace {

namespace fs = std::filesystem;

constexpr char kDataLink[] = "..data";
constexpr char kNextData[] = "..data_tmp";
constexpr char kVersionFolder[] = "..version_XXXXXX";
constexpr mode_t kOpenFolder = S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH;
constexpr std::uint32_t kPermissions = 0777;

using FileContent = std::pair<std::string, std::uint32_t>;  // the text and the mode

Error PayloadError(const std::string& path) {
  return {ErrorCode::kUnavailable, path + ": " + std::strerror(errno)};
}

std::map<std::string, FileContent> ContentsIn(const fs::path& folder) {
  std::map<std::string, FileContent> contents;
  std::error_code error;
  fs::recursive_directory_iterator entries(folder, error);
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    struct stat info {};
    if (stat(entries->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    std::ifstream file(entries->path(), std::ios::binary);
    contents[entries->path().lexically_relative(folder)] = {
        {std::istreambuf_iterator<char>(file), {}}, info.st_mode & kPermissions};
  }
  return contents;
}

bool HasFiles(const std::string& folder, const std::vector<VolumeFile>& files) {
  std::error_code error;
  if (!fs::is_directory(folder + "/" + kDataLink, error)) return false;
  std::map<std::string, FileContent> wanted;
  for (const VolumeFile& file : files) wanted[file.path] = {file.content, file.mode};
  return ContentsIn(fs::canonical(folder + "/" + kDataLink, error)) == wanted;
}

Status MakeFolders(const fs::path& folder, const fs::path& root) {
  if (folder == root) return OkStatus();
  BERTH_CHECK_OK(MakeFolders(folder.parent_path(), root));
  if (mkdir(folder.c_str(), kOpenFolder) != 0 && errno != EEXIST) return PayloadError(folder);
  return chmod(folder.c_str(), kOpenFolder) == 0 ? OkStatus() : Status(PayloadError(folder));
}

Status WriteFiles(const std::string& folder, const std::vector<VolumeFile>& files,
                  const std::function<Status(const std::string&)>& give) {
  if (chmod(folder.c_str(), kOpenFolder) != 0) return PayloadError(folder);
  for (const VolumeFile& file : files) {
    const fs::path path = fs::path(folder) / file.path;
    BERTH_CHECK_OK(MakeFolders(path.parent_path(), folder));
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out << file.content;
    out.close();
    if (!out || chmod(path.c_str(), file.mode) != 0) return PayloadError(path);
    BERTH_CHECK_OK(give(path));
  }
  return OkStatus();
}

// A link at `path`, in the place of an earlier one.
Status Link(const std::string& text, const std::string& path, const std::string& beside) {
  unlink(beside.c_str());
  if (symlink(text.c_str(), beside.c_str()) != 0) return PayloadError(beside);
  return std::rename(beside.c_str(), path.c_str()) == 0 ? OkStatus() : Status(PayloadError(path));
}

// The entries that programs name. Entries that are no links into ..data are mount points of others.
Status LinkEntries(const std::string& folder, const std::vector<VolumeFile>& files) {
  std::set<std::string> names;
  for (const VolumeFile& file : files) names.insert(*fs::path(file.path).begin());
  std::error_code error;
  for (const std::string& name : names) {
    const std::string path = folder + "/" + name;
    if (fs::is_symlink(path, error)) continue;
    BERTH_CHECK_OK(
        Link(std::string(kDataLink) + "/" + name, path, folder + "/" + kNextData + "_entry"));
  }
  std::vector<fs::path> stale;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("..") || names.contains(name) || !entry.is_symlink(error)) continue;
    if (fs::read_symlink(entry.path(), error) == std::string(kDataLink) + "/" + name) {
      stale.push_back(entry.path());
    }
  }
  for (const fs::path& path : stale) fs::remove(path, error);
  return OkStatus();
}

}  // namespace

Status WritePayload(const std::string& folder, const std::vector<VolumeFile>& files,
                    const std::function<Status(const std::string& path)>& give) {
  if (HasFiles(folder, files)) return LinkEntries(folder, files);
  std::error_code error;
  const fs::path before = fs::read_symlink(folder + "/" + kDataLink, error);
  std::string version = folder + "/" + kVersionFolder;
  if (mkdtemp(version.data()) == nullptr) return PayloadError(version);
  Status done = WriteFiles(version, files, give);
  if (done) {
    done = Link(fs::path(version).filename(), folder + "/" + kDataLink, folder + "/" + kNextData);
  }
  if (!done) {
    fs::remove_all(version, error);
    return done;
  }
  BERTH_CHECK_OK(LinkEntries(folder, files));
  if (!before.empty()) fs::remove_all(fs::path(folder) / before, error);
  return OkStatus();
}

}  // namespace berth::local::cluster

#include "local/cluster/kubelet/pod_folders.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log/log.h"
#include "local/cluster/kubelet/volume_payload.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/processes/program_user.h"

namespace berth::local::cluster {
namespace {

namespace fs = std::filesystem;

Status MakeFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return Error{ErrorCode::kUnavailable, path + ": " + error.message()};
  fs::permissions(path, fs::perms::owner_all, error);
  return OkStatus();
}

// A folder that other users may enter and list.
Status MakeOpenFolder(const std::string& path) {
  BERTH_CHECK_OK(MakeFolder(path));
  if (chmod(path.c_str(), S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH) == 0) return OkStatus();
  return Error{ErrorCode::kUnavailable, path + ": " + std::strerror(errno)};
}

constexpr std::size_t kUidLength = 36;
constexpr std::uint32_t kOwnerAlone = 0700;

std::string NameOfFolder(const Json& pod) {
  return NamespaceOf(pod) + "_" + NameOf(pod) + "_" + UidOf(pod);
}

// Removes the pods' folders in `root` whose uid is not in `uids`.
void KeepOnlyIn(const std::string& root, const std::set<std::string>& uids) {
  std::error_code error;
  for (const auto& pod : fs::directory_iterator(root, error)) {
    const std::string name = pod.path().filename();
    const std::string uid = name.substr(name.rfind('_') + 1);
    if (uid.size() == kUidLength && uid.size() < name.size() && uids.count(uid) == 0) {
      fs::remove_all(pod.path(), error);
    }
  }
}

}  // namespace

Status PodFolders::Open() const {
  BERTH_CHECK_OK(MakeFolder(root_));
  if (mkdir(work_root_.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return Error{ErrorCode::kUnavailable, work_root_ + ": " + std::strerror(errno)};
  }
  struct stat info {};
  if (lstat(work_root_.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid()) {
    return Error{ErrorCode::kInvalid, "the programs' folder " + work_root_ +
                                          " is not a folder of ours; remove it, or choose another "
                                          "place: --data-dir"};
  }
  // Another user may enter the folder, but not list it.
  const mode_t mode = user_ ? S_IRWXU | S_IXGRP | S_IXOTH : S_IRWXU;
  if (chmod(work_root_.c_str(), mode) != 0) {
    return Error{ErrorCode::kUnavailable, work_root_ + ": " + std::strerror(errno)};
  }
  return user_ ? CheckReachable(work_root_, *user_) : OkStatus();
}

// Before the folder is the programs': nobody else can have put a link in the way.
Status PodFolders::WriteKubeconfig(const Json& pod, const std::string& text) const {
  const std::string folder = WorkFolder(pod) + "/.kube";
  const std::string path = folder + "/config";
  BERTH_CHECK_OK(MakeFolder(folder));
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the POSIX call
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  const auto failed = [&] {
    return Error{ErrorCode::kUnavailable, path + ": " + std::strerror(errno)};
  };
  if (file < 0) return failed();
  const ssize_t written = write(file, text.data(), text.size());
  close(file);
  if (written != static_cast<ssize_t>(text.size())) return failed();
  if (!user_) return OkStatus();
  for (const std::string& each : {path, folder}) {
    if (lchown(each.c_str(), user_->user, user_->group) != 0) return failed();
  }
  return OkStatus();
}

Status PodFolders::Prepare(const Json& pod, const std::string& container,
                           const std::function<Result<std::string>()>& kubeconfig) const {
  std::error_code error;
  if (kubeconfig != nullptr && !fs::exists(WorkFolder(pod), error)) {
    BERTH_TRY(const std::string text, kubeconfig());
    BERTH_CHECK_OK(MakeFolder(WorkFolder(pod)));
    if (Status done = text.empty() ? OkStatus() : WriteKubeconfig(pod, text); !done) {
      fs::remove_all(WorkFolder(pod), error);  // the next start tries again
      return done;
    }
  }
  BERTH_CHECK_OK(MakeFolder(WorkFolder(pod)));
  if (user_ && lchown(WorkFolder(pod).c_str(), user_->user, user_->group) != 0) {
    return Error{ErrorCode::kUnavailable, WorkFolder(pod) + ": " + std::strerror(errno)};
  }
  return MakeFolder(Folder(pod) + "/" + container);
}

Status PodFolders::WriteVolumes(const Json& pod, const std::vector<PodVolume>& volumes) const {
  for (const PodVolume& volume : volumes) {
    if (volume.is_empty_dir) {
      BERTH_CHECK_OK(MakeBesideVolumes(pod, volume.name));
      continue;
    }
    const std::string folder = VolumesFolder(pod) + "/" + volume.name;
    BERTH_CHECK_OK(MakeOpenFolder(VolumesFolder(pod)));
    BERTH_CHECK_OK(MakeOpenFolder(folder));
    std::vector<VolumeFile> files = volume.files;
    // Other users of the machine may enter the folder of another user's programs.
    for (VolumeFile& file : files) {
      if (user_ && volume.has_token) file.mode &= kOwnerAlone;
    }
    BERTH_CHECK_OK(
        WritePayload(folder, files, [this](const std::string& path) { return GiveToUser(path); }));
  }
  return OkStatus();
}

Status PodFolders::MakeBesideVolumes(const Json& pod, const std::string& name) const {
  const std::string folder = VolumesFolder(pod) + "/" + name;
  BERTH_CHECK_OK(MakeOpenFolder(VolumesFolder(pod)));
  BERTH_CHECK_OK(MakeOpenFolder(folder));
  return GiveToUser(folder);
}

std::string PodFolders::TemporaryFolder(const Json& pod, const std::string& container) const {
  return VolumesFolder(pod) + "/.tmp_" + container;
}

Result<std::string> PodFolders::MakeTemporary(const Json& pod, const std::string& container) const {
  const std::string folder = TemporaryFolder(pod, container);
  std::error_code error;
  fs::remove_all(folder, error);
  if (error) return Error{ErrorCode::kUnavailable, folder + ": " + error.message()};
  BERTH_CHECK_OK(MakeOpenFolder(VolumesFolder(pod)));
  BERTH_CHECK_OK(MakeFolder(folder));
  return folder;
}

Status PodFolders::OpenTemporary(const Json& pod, const std::string& container) const {
  const std::string folder = TemporaryFolder(pod, container);
  std::error_code error;
  fs::permissions(folder, fs::perms::all | fs::perms::sticky_bit, error);
  if (!error) return OkStatus();
  return Error{ErrorCode::kUnavailable, folder + ": " + error.message()};
}

Status PodFolders::MakeClaimFolder(const std::string& volume) const {
  BERTH_CHECK_OK(MakeOpenFolder(work_root_ + "/claims"));
  BERTH_CHECK_OK(MakeOpenFolder(ClaimFolder(volume)));
  return GiveToUser(ClaimFolder(volume));
}

Status PodFolders::RemoveClaimFolder(const std::string& volume) const {
  std::error_code error;
  fs::remove_all(ClaimFolder(volume), error);
  if (!error) return OkStatus();
  return Error{ErrorCode::kUnavailable, ClaimFolder(volume) + ": " + error.message()};
}

std::string PodFolders::ClaimFolder(const std::string& volume) const {
  return work_root_ + "/claims/" + volume;
}

Status PodFolders::GiveToUser(const std::string& path) const {
  if (!user_ || lchown(path.c_str(), user_->user, user_->group) == 0) return OkStatus();
  return Error{ErrorCode::kUnavailable, path + ": " + std::strerror(errno)};
}

bool PodFolders::Exists(const Json& pod) const {
  std::error_code error;
  return fs::exists(Folder(pod), error);
}

void PodFolders::Remove(const Json& pod) const {
  for (const std::string& path : {Folder(pod), WorkFolder(pod), VolumesFolder(pod)}) {
    std::error_code error;
    fs::remove_all(path, error);
    if (error) LogWarning("pod folder stays", {{"path", path}, {"error", error.message()}});
  }
}

std::string PodFolders::Folder(const Json& pod) const { return root_ + "/" + NameOfFolder(pod); }

std::string PodFolders::WorkFolder(const Json& pod) const {
  return work_root_ + "/" + NameOfFolder(pod);
}

std::string PodFolders::VolumesFolder(const Json& pod) const {
  return work_root_ + "/volumes_" + NameOfFolder(pod);
}

std::string PodFolders::LogPath(const Json& pod, const std::string& container, int restart) const {
  return Folder(pod) + "/" + container + "/" + std::to_string(restart) + ".log";
}

std::string PodFolders::LogTail(const Json& pod, const std::string& container, int restart,
                                std::size_t most_bytes) const {
  std::ifstream file(LogPath(pod, container, restart), std::ios::binary | std::ios::ate);
  if (!file) return "";
  const auto size = static_cast<std::size_t>(std::max<std::streamoff>(file.tellg(), 0));
  const std::size_t begin = size > most_bytes ? size - most_bytes : 0;
  std::string text(size - begin, '\0');
  file.seekg(static_cast<std::streamoff>(begin));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (begin == 0) return text;
  const std::size_t line_end = text.find('\n');
  return line_end == std::string::npos ? text : text.substr(line_end + 1);
}

std::string PodFolders::RecordPath(const Json& pod, const std::string& container) const {
  return Folder(pod) + "/" + container + "/process";
}

void PodFolders::SweepRecords() const {
  std::error_code error;
  for (const auto& pod : fs::directory_iterator(root_, error)) {
    for (const auto& container : fs::directory_iterator(pod.path(), error)) {
      const fs::path record = container.path() / "process";
      if (!fs::exists(record, error)) continue;
      if (SweepRecord(record)) LogInfo("ended a leftover process", {{"record", record}});
      fs::remove(record, error);
    }
  }
}

void PodFolders::KeepOnly(const std::set<std::string>& uids) const {
  KeepOnlyIn(root_, uids);
  KeepOnlyIn(work_root_, uids);
}

}  // namespace berth::local::cluster

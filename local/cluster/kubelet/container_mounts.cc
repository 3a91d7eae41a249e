#include "local/cluster/kubelet/container_mounts.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "local/cluster/kubelet/pod_volumes.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/volumes/volume_controller.h"

namespace berth::local::cluster {
namespace {

namespace fs = std::filesystem;

constexpr char kTokenPath[] = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr char kRoot[] = ".root";  // no volume has a name with a dot in front
constexpr char kTemporary[] = "/tmp";
constexpr char kStage[] = ".tmp";
constexpr char kWorking[] = ".working";  // stands for a working directory that is not there

bool IsIn(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder + "/");
}

bool HasTemporary() {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(kTemporary, error));
}

// The entries of the machine's /tmp that a program cannot do without: with its working folder, its
// own file, and what its variables lead to.
std::set<std::string> KeptEntries(const ProcessSpec& process, const Environment& environment) {
  std::set<std::string> kept;
  const auto keep = [&kept](std::string_view path) {
    const std::string start = std::string(kTemporary) + "/";
    if (!path.starts_with(start)) return;
    std::string entry(path.substr(0, path.find('/', start.size())));
    std::error_code error;
    if (entry.size() > start.size() && fs::exists(entry, error)) kept.insert(std::move(entry));
  };
  keep(process.working_folder);
  if (!process.argv.empty()) keep(process.argv[0]);
  for (const auto& [name, value] : environment) {
    for (const std::string_view path : Split(value, ':')) keep(path);
  }
  return kept;
}

// Whether the container's own /tmp stands before the path.
bool IsHidden(const std::string& path, const std::set<std::string>& kept) {
  if (!HasTemporary() || !IsIn(path, kTemporary)) return false;
  return std::none_of(kept.begin(), kept.end(),
                      [&path](const std::string& entry) { return IsIn(path, entry); });
}

Error RefuseMount(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

// The mount that every pod gets must not be the reason of a refusal (CheckForeignUser).
void LeaveOutHiddenTokens(std::vector<PodMount>& mounts) {
  const auto hides = [&mounts](const std::string& target) {
    return std::any_of(mounts.begin(), mounts.end(), [&target](const PodMount& other) {
      return other.is_for_programs && other.target != target && IsIn(target, other.target);
    });
  };
  const bool is_hidden = hides(kTokenPath);
  std::erase_if(mounts, [is_hidden](const PodMount& mount) {
    return is_hidden && mount.target == kTokenPath;
  });
}

// If programs have a user of their own, they could lead mounts in their folders to files of other
// users, by symbolic links.
Status CheckForeignUser(const std::vector<PodMount>& mounts) {
  for (const PodMount& mount : mounts) {
    if (!mount.is_for_programs) continue;
    if (!mount.sub_path.empty()) {
      return RefuseMount(
          "subPath \"" + mount.sub_path +
          "\" of a volume that programs write is not served with berth up --job-user");
    }
    for (const PodMount& other : mounts) {
      if (!IsIn(other.target, mount.target) || other.target == mount.target) continue;
      return RefuseMount("mountPath " + other.target + " in a volume that programs write at " +
                         mount.target + " is not served with berth up --job-user");
    }
  }
  return OkStatus();
}

}  // namespace

Result<std::vector<MountPoint>> ContainerMounts::PointsOf(const Json& pod, const Json& container,
                                                          const Environment& own) const {
  const std::string folder = folders_.VolumesFolder(pod);
  BERTH_TRY(const ClaimFolders claims, ClaimFoldersOf(cache_, folders_, pod));
  BERTH_TRY(std::vector<PodMount> mounts, MountsOf(pod, container, folder, own, claims));
  if (has_job_user_) {
    LeaveOutHiddenTokens(mounts);
    BERTH_CHECK_OK(CheckForeignUser(mounts));
  }
  std::vector<MountPoint> points;
  for (const PodMount& mount : mounts) {
    const std::string source =
        mount.sub_path.empty() ? mount.source : mount.source + "/" + mount.sub_path;
    std::error_code error;
    if (mount.is_for_programs && !mount.sub_path.empty()) fs::create_directories(source, error);
    if (!fs::exists(source, error)) {
      return RefuseMount("subPath \"" + mount.sub_path + "\" is not in its volume");
    }
    points.push_back({source, mount.target, mount.read_only});
  }
  return points;
}

Status ContainerMounts::AddTo(ProcessSpec& process, const Json& pod, const Json& container,
                              const Environment& own, bool starts) const {
  const std::string folder = folders_.VolumesFolder(pod);
  BERTH_TRY(std::vector<MountPoint> points, PointsOf(pod, container, own));
  const std::set<std::string> kept = KeptEntries(process, inherited_);
  const std::string working = StringAt(container, {"workingDir"});
  if (!working.empty()) {
    if (working.front() != '/') {
      return RefuseMount("workingDir \"" + working + "\": write an absolute path");
    }
    process.start_folder = fs::path(working).lexically_normal().string();
    if (process.start_folder.size() > 1 && process.start_folder.back() == '/') {
      process.start_folder.pop_back();
    }
    std::error_code error;
    bool exists = fs::is_directory(process.start_folder, error) &&
                  (process.start_folder == kTemporary || !IsHidden(process.start_folder, kept));
    for (const MountPoint& point : points) {
      exists = exists || IsIn(process.start_folder, point.target);
    }
    if (!exists) {
      BERTH_CHECK_OK(folders_.MakeBesideVolumes(pod, kWorking));
      points.insert(points.begin(), {folder + "/" + kWorking, process.start_folder, false});
    }
  }
  if (!starts) return OkStatus();
  std::vector<MountPoint> outside;
  std::vector<MountPoint> inside;
  for (MountPoint& point : points) {
    (IsHidden(point.target, kept) ? inside : outside).push_back(std::move(point));
  }
  BERTH_CHECK_OK(folders_.MakeBesideVolumes(pod, kRoot));
  process.volumes_folder = folder;
  process.temporary_folder = process.working_folder;
  BERTH_TRY(process.mounts, PlanMounts(outside, folder + "/" + kRoot));
  if (!HasTemporary()) return OkStatus();
  BERTH_TRY(const std::vector<MountStep> steps,
            PlanTemporary(pod, StringAt(container, {"name"}), kept, std::move(inside)));
  process.mounts.insert(process.mounts.end(), steps.begin(), steps.end());
  return OkStatus();
}

// The steps that put a folder of the container at /tmp, with the mounts `inside` it; a mount at
// /tmp stands for the folder. The folder is filled beside the machine's /tmp, which has sources of
// mounts.
Result<std::vector<MountStep>> ContainerMounts::PlanTemporary(
    const Json& pod, const std::string& container, const std::set<std::string>& kept,
    std::vector<MountPoint> inside) const {
  const std::string stage = folders_.VolumesFolder(pod) + "/" + kStage;
  BERTH_CHECK_OK(folders_.MakeBesideVolumes(pod, kStage));
  const bool has_volume = std::any_of(inside.begin(), inside.end(), [](const MountPoint& point) {
    return point.target == kTemporary;
  });
  std::vector<MountPoint> points;
  if (!has_volume) {
    BERTH_TRY(const std::string own, folders_.MakeTemporary(pod, container));
    points.push_back({own, stage, false});
  }
  for (MountPoint& point : inside) {
    point.target = stage + point.target.substr(std::string_view(kTemporary).size());
    points.push_back(std::move(point));
  }
  // The folders on the way to a mount in a volume of another user's programs may be links.
  if (!has_volume || !has_job_user_) {
    for (const std::string& entry : kept) {
      points.insert(points.begin() + 1,
                    {entry, stage + entry.substr(std::string_view(kTemporary).size()), false});
    }
  }
  BERTH_TRY(std::vector<MountStep> steps, PlanMounts(points, ""));
  if (!has_volume) BERTH_CHECK_OK(folders_.OpenTemporary(pod, container));
  steps.push_back({MountStep::Kind::kMove, stage, kTemporary});
  return steps;
}

}  // namespace berth::local::cluster

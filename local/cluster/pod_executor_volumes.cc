// The volumes of pods: files before a container starts, mounts for its program.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "local/cluster/mount_steps.h"
#include "local/cluster/pod_executor.h"
#include "local/cluster/pod_volumes.h"
#include "local/cluster/resource_ids.h"
#include "local/cluster/volumes/volume_controller.h"

namespace berth::local::cluster {
namespace {

namespace fs = std::filesystem;

constexpr Duration kRenewalRetry = std::chrono::seconds(10);
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

Error Refuse(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

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

// Makes what the type asks for, or says in kubelet's words what is wrong with the path.
Status CheckMachinePath(const std::string& path, const std::string& type) {
  std::error_code error;
  if (type == "DirectoryOrCreate") fs::create_directories(path, error);
  if (type == "FileOrCreate" && !fs::exists(path, error)) std::ofstream(path, std::ios::app);
  const fs::file_type found = fs::status(path, error).type();
  const auto wants = [&](fs::file_type wanted, const char* what) -> Status {
    if (found == wanted) return OkStatus();
    return Refuse("hostPath type check failed: " + path + " is not a " + what);
  };
  if (type.starts_with("Directory")) return wants(fs::file_type::directory, "directory");
  if (type.starts_with("File")) return wants(fs::file_type::regular, "file");
  if (type == "Socket") return wants(fs::file_type::socket, "socket file");
  if (type == "CharDevice") return wants(fs::file_type::character, "character device");
  if (type == "BlockDevice") return wants(fs::file_type::block, "block device");
  if (fs::exists(path, error)) return OkStatus();
  fs::create_directories(path, error);  // container runtimes do the same
  return error ? Refuse("hostPath " + path + ": " + error.message()) : OkStatus();
}

// If programs have a user of their own, they could lead mounts in their folders to files of other
// users, by symbolic links.
Status CheckForeignUser(const std::vector<PodMount>& mounts) {
  for (const PodMount& mount : mounts) {
    if (!mount.is_for_programs) continue;
    if (!mount.sub_path.empty()) {
      return Refuse("subPath \"" + mount.sub_path +
                    "\" of a volume that programs write is not served with berth up --job-user");
    }
    for (const PodMount& other : mounts) {
      if (!IsIn(other.target, mount.target) || other.target == mount.target) continue;
      return Refuse("mountPath " + other.target + " in a volume that programs write at " +
                    mount.target + " is not served with berth up --job-user");
    }
  }
  return OkStatus();
}

}  // namespace

// Whether the pod's claims are bound to folders that are there.
Status PodExecutor::HasClaims(const Json& pod) const {
  BERTH_TRY(const ClaimFolders claims, ClaimFoldersOf(services_.cache, services_.folders, pod));
  for (const auto& [volume, claim] : claims) {
    std::error_code error;
    if (fs::is_directory(claim.path, error)) continue;
    return Refuse(fmt::format("MountVolume.SetUp failed for volume \"{}\" : the folder {} is gone",
                              volume, claim.path));
  }
  return OkStatus();
}

// If programs have a user of their own, they could have files mounted that lie in folders closed to
// them.
Status PodExecutor::HasMachinePaths(const Json& pod) const {
  BERTH_TRY(const std::vector<MachinePath> paths, MachinePathsOf(pod));
  for (const MachinePath& path : paths) {
    const Status is_there = services_.job_user
                                ? Refuse("hostPath is not served with berth up --job-user")
                                : CheckMachinePath(path.path, path.type);
    if (is_there) continue;
    return Refuse(fmt::format("MountVolume.SetUp failed for volume \"{}\" : {}", path.volume,
                              is_there.error().message));
  }
  return OkStatus();
}

Result<std::vector<PodVolume>> PodExecutor::ReadVolumes(const Json& pod, Live& live) {
  return PlanVolumes(
      pod,
      [&](DataKind kind, const std::string& name) {
        return ReadData(NamespaceOf(pod), kind, name, true);
      },
      [&](const std::string& audience, std::int64_t seconds) {
        const WallTime renewal = services_.clock.Now() + TokenRenewalDelay(seconds);
        if (!live.renew_tokens_at || renewal < *live.renew_tokens_at) {
          live.renew_tokens_at = renewal;
        }
        return TokenOfPod(services_.api, pod, audience, seconds);
      });
}

// Programs read the files again, as on a kubelet's node; other volumes stay as they are.
void PodExecutor::RenewTokens(const Json& pod, Live& live) {
  const WallTime now = services_.clock.Now();
  if (!live.renew_tokens_at || now < *live.renew_tokens_at) return;
  live.renew_tokens_at.reset();
  if (live.processes.empty()) return;  // the next start writes the files
  auto volumes = ReadVolumes(pod, live);
  Status written = volumes ? OkStatus() : Status(volumes.error());
  if (volumes) {
    std::erase_if(*volumes, [](const PodVolume& volume) { return !volume.has_token; });
    written = services_.folders.WriteVolumes(pod, *volumes);
  }
  if (written) return;
  events_.Record(pod, EventType::kWarning, "FailedMount", written.error().message);
  live.renew_tokens_at = now + kRenewalRetry;
}

void PodExecutor::OnData(const ObjectChange& change, DataKind kind) {
  const std::string namespace_name = NamespaceOf(change.any());
  const std::string name = NameOf(change.any());
  for (const auto& [uid, live] : live_by_uid_) {
    if (NamespaceOf(*live.pod) != namespace_name) continue;
    NoteStale(uid, VolumesShowing(*live.pod, kind, name));
  }
}

void PodExecutor::NoteStale(const std::string& uid, std::set<std::string> volumes) {
  const auto live = live_by_uid_.find(uid);
  if (volumes.empty() || live == live_by_uid_.end()) return;
  live->second.stale_volumes.merge(volumes);
  pods_.Add(KeyOf(*live->second.pod));
}

// Running programs find the new content; an object that is gone leaves the last content, as on a
// kubelet's node.
void PodExecutor::RenewStale(const Json& pod, Live& live) {
  const std::set<std::string> stale = std::exchange(live.stale_volumes, {});
  if (stale.empty() || live.processes.empty()) return;  // the next start writes the files
  Json shown = pod;
  Json& sources = shown["spec"]["volumes"];
  Json kept = Json::array();
  for (const Json& source : sources) {
    if (stale.contains(StringAt(source, {"name"}))) kept.push_back(source);
  }
  sources = std::move(kept);
  const auto volumes = ReadVolumes(shown, live);
  const Status written = volumes ? services_.folders.WriteVolumes(pod, *volumes) : volumes.error();
  if (!written) {
    events_.Record(pod, EventType::kWarning, "FailedMount", written.error().message);
  }
}

// Tries again while an object is missing, as kubelet does.
bool PodExecutor::PrepareVolumes(const Json& pod, Live& live, ContainerRun& container) {
  if (ArrayAt(pod, {"spec", "volumes"}).empty()) return true;
  const auto volumes = ReadVolumes(pod, live);
  Status written = volumes ? services_.folders.WriteVolumes(pod, *volumes) : volumes.error();
  if (written) written = HasClaims(pod);
  if (written) written = HasMachinePaths(pod);
  if (written) return true;
  events_.Record(pod, EventType::kWarning, "FailedMount", written.error().message);
  Hold(container, "ContainerCreating", written.error().message);
  return false;
}

Result<std::vector<MountPoint>> PodExecutor::MountPointsOf(const Json& pod, const Json& container,
                                                           const Environment& own) const {
  const std::string folder = services_.folders.VolumesFolder(pod);
  BERTH_TRY(const ClaimFolders claims, ClaimFoldersOf(services_.cache, services_.folders, pod));
  BERTH_TRY(std::vector<PodMount> mounts, MountsOf(pod, container, folder, own, claims));
  if (services_.job_user) {
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
      return Refuse("subPath \"" + mount.sub_path + "\" is not in its volume");
    }
    points.push_back({source, mount.target, mount.read_only});
  }
  return points;
}

// Without `starts`, for a program beside a running container, which has the mounts already.
Status PodExecutor::AddVolumes(const Json& pod, const Json& container, const Environment& own,
                               bool starts, ProcessSpec& process) const {
  const std::string folder = services_.folders.VolumesFolder(pod);
  BERTH_TRY(std::vector<MountPoint> points, MountPointsOf(pod, container, own));
  const std::set<std::string> kept = KeptEntries(process, base_environment_);
  const std::string working = StringAt(container, {"workingDir"});
  if (!working.empty()) {
    if (working.front() != '/') {
      return Refuse("workingDir \"" + working + "\": write an absolute path");
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
      BERTH_CHECK_OK(services_.folders.MakeBesideVolumes(pod, kWorking));
      points.insert(points.begin(), {folder + "/" + kWorking, process.start_folder, false});
    }
  }
  if (!starts) return OkStatus();
  std::vector<MountPoint> outside;
  std::vector<MountPoint> inside;
  for (MountPoint& point : points) {
    (IsHidden(point.target, kept) ? inside : outside).push_back(std::move(point));
  }
  BERTH_CHECK_OK(services_.folders.MakeBesideVolumes(pod, kRoot));
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
Result<std::vector<MountStep>> PodExecutor::PlanTemporary(const Json& pod,
                                                          const std::string& container,
                                                          const std::set<std::string>& kept,
                                                          std::vector<MountPoint> inside) const {
  const PodFolders& folders = services_.folders;
  const std::string stage = folders.VolumesFolder(pod) + "/" + kStage;
  BERTH_CHECK_OK(folders.MakeBesideVolumes(pod, kStage));
  const bool has_volume = std::any_of(inside.begin(), inside.end(), [](const MountPoint& point) {
    return point.target == kTemporary;
  });
  std::vector<MountPoint> points;
  if (!has_volume) {
    BERTH_TRY(const std::string own, folders.MakeTemporary(pod, container));
    points.push_back({own, stage, false});
  }
  for (MountPoint& point : inside) {
    point.target = stage + point.target.substr(std::string_view(kTemporary).size());
    points.push_back(std::move(point));
  }
  // The folders on the way to a mount in a volume of another user's programs may be links.
  if (!has_volume || !services_.job_user) {
    for (const std::string& entry : kept) {
      points.insert(points.begin() + 1,
                    {entry, stage + entry.substr(std::string_view(kTemporary).size()), false});
    }
  }
  BERTH_TRY(std::vector<MountStep> steps, PlanMounts(points, ""));
  if (!has_volume) BERTH_CHECK_OK(folders.OpenTemporary(pod, container));
  steps.push_back({MountStep::Kind::kMove, stage, kTemporary});
  return steps;
}

}  // namespace berth::local::cluster

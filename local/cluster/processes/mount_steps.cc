#include "local/cluster/processes/mount_steps.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include <sys/mount.h>
#include <sys/statvfs.h>

namespace berth::local::cluster {
namespace {

namespace fs = std::filesystem;
using StepKind = MountStep::Kind;

constexpr std::size_t kMostSteps = 5000;

Error Refuse(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

bool IsBelow(const fs::path& path, const fs::path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end() && rest != path.end();
}

class MountPlanner {
 public:
  MountPlanner(const std::vector<MountPoint>& mounts, const std::string& root)
      : mounts_(mounts), root_(root) {}

  Result<std::vector<MountStep>> Run() {
    for (const MountPoint& mount : mounts_) BERTH_CHECK_OK(Locate(mount));
    PlanTrees();
    if (!shown_.empty()) steps_.push_back({StepKind::kEmpty, "", root_});
    for (const MountTree& tree : trees_) {
      if (tree.place == root_) continue;
      steps_.push_back({StepKind::kFolder, "", tree.place});
      steps_.push_back({StepKind::kEmpty, "", tree.place});
    }
    for (const fs::path& folder : shown_) BERTH_CHECK_OK(Show(folder));
    for (const MountTarget& target : targets_) AddTarget(target);
    for (const MountTree& tree : trees_) {
      steps_.push_back(tree.place == root_
                           ? MountStep{StepKind::kRoot, "", root_}
                           : MountStep{StepKind::kMove, tree.place, tree.folder.string()});
    }
    if (steps_.size() > kMostSteps) {
      return Refuse(
          "mountPath: the folders that lead to the volumes have too many entries here; "
          "choose a path whose parent exists and is small");
    }
    return std::move(steps_);
  }

 private:
  struct MountTarget {
    const MountPoint* mount;
    fs::path existing;  // the longest part of the target that the machine has, links resolved
    fs::path missing;   // the rest
  };
  // An empty file system that takes the place of a folder of the machine.
  struct MountTree {
    fs::path folder;
    std::string place;  // where the file system is while it is filled
  };

  // The outermost folders with missing targets get a tree each; the machine's root is all there is.
  void PlanTrees() {
    std::set<fs::path> folders;
    for (const MountTarget& target : targets_) {
      if (!target.missing.empty()) folders.insert(target.existing);
    }
    for (const fs::path& folder : folders) {  // outer ones first
      const bool is_in_tree = std::any_of(trees_.begin(), trees_.end(), [&](const MountTree& tree) {
        return IsBelow(folder, tree.folder);
      });
      if (is_in_tree) continue;
      const bool is_root = folder == folder.root_path();
      trees_.push_back({folder, is_root ? root_ : root_ + "/" + std::to_string(trees_.size())});
    }
    for (fs::path folder : folders) {
      for (;; folder = folder.parent_path()) {
        shown_.insert(folder);
        if (std::any_of(trees_.begin(), trees_.end(),
                        [&](const MountTree& tree) { return tree.folder == folder; })) {
          break;
        }
      }
    }
  }

  // Where a path of the machine is while the trees are filled.
  fs::path Place(const fs::path& path) const {
    for (const MountTree& tree : trees_) {
      if (path == tree.folder) return tree.place;
      if (IsBelow(path, tree.folder)) return tree.place / path.lexically_relative(tree.folder);
    }
    return path;
  }

  void AddTarget(const MountTarget& target) {
    fs::path to = Place(target.existing);
    const bool is_folder = fs::is_directory(target.mount->source);
    for (auto part = target.missing.begin(); part != target.missing.end(); ++part) {
      to /= *part;
      const bool is_last = std::next(part) == target.missing.end();
      steps_.push_back({is_last && !is_folder ? StepKind::kFile : StepKind::kFolder, "", to});
    }
    steps_.push_back({StepKind::kBind, target.mount->source, to});
    if (target.mount->read_only) {
      steps_.push_back({StepKind::kReadOnly, "", to, MountFlags(target.mount->source)});
    }
  }

  Status Locate(const MountPoint& mount) {
    std::error_code error;
    if (!fs::exists(mount.source, error)) return Refuse(mount.source + " is not there");
    const fs::path target = mount.target;
    for (auto outer = targets_.rbegin(); outer != targets_.rend(); ++outer) {
      if (!IsBelow(target, outer->mount->target)) continue;
      return LocateIn(*outer, mount);
    }
    fs::path existing = target;
    while (!fs::exists(existing, error)) existing = existing.parent_path();
    const fs::path missing = target == existing ? "" : target.lexically_relative(existing);
    const fs::path real = fs::canonical(existing, error);
    if (error) return Refuse("mountPath " + mount.target + ": " + error.message());
    const bool is_folder = fs::is_directory(real);
    const bool wants_folder = !missing.empty() || fs::is_directory(mount.source);
    if (is_folder != wants_folder) {
      return Refuse("mountPath " + mount.target + ": " + real.string() +
                    (is_folder ? " is a folder, the volume a file" : " is not a folder"));
    }
    targets_.push_back({&mount, real, missing});
    return OkStatus();
  }

  // A volume in a volume: the outer one gets the mount point.
  Status LocateIn(const MountTarget& outer, const MountPoint& mount) {
    const fs::path rest = fs::path(mount.target).lexically_relative(outer.mount->target);
    const fs::path inner = fs::path(outer.mount->source) / rest;
    std::error_code error;
    if (!fs::exists(inner, error)) {
      fs::create_directories(fs::is_directory(mount.source) ? inner : inner.parent_path(), error);
      if (!fs::is_directory(mount.source)) error = MakeFile(inner);
    }
    if (error) return Refuse("mountPath " + mount.target + ": " + error.message());
    targets_.push_back({&mount, outer.existing / outer.missing / rest, ""});
    return OkStatus();
  }

  static std::error_code MakeFile(const fs::path& path);

  // The entries of a folder of the machine in its tree.
  Status Show(const fs::path& folder) {
    std::error_code error;
    fs::directory_iterator entries(folder, error);
    if (error) return Refuse("mountPath below " + folder.string() + ": " + error.message());
    for (; entries != fs::directory_iterator(); entries.increment(error)) {
      const fs::path path = entries->path();
      const std::string to = Place(path).string();
      if (shown_.contains(path)) {
        steps_.push_back({StepKind::kFolder, "", to});
        continue;
      }
      const fs::file_status status = entries->symlink_status(error);
      if (fs::is_symlink(status)) {
        const fs::path text = fs::read_symlink(path, error);
        if (!error) steps_.push_back({StepKind::kLink, text, to});
        continue;
      }
      if (!fs::exists(status)) continue;  // gone meanwhile
      steps_.push_back({fs::is_directory(status) ? StepKind::kFolder : StepKind::kFile, "", to});
      steps_.push_back({StepKind::kShow, path, to});
      if (steps_.size() > kMostSteps) return OkStatus();
    }
    return OkStatus();
  }

  const std::vector<MountPoint>& mounts_;
  const std::string& root_;
  std::vector<MountTarget> targets_;
  std::vector<MountTree> trees_;
  std::set<fs::path> shown_;  // folders of the machine in the trees, outer ones first
  std::vector<MountStep> steps_;
};

std::error_code MountPlanner::MakeFile(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path, error)) return error;
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return {errno, std::generic_category()};
  std::fclose(file);
  return {};
}

}  // namespace

// The flags that a remount must keep.
unsigned long MountFlags(const std::string& path) {
  struct statvfs info {};
  if (statvfs(path.c_str(), &info) != 0) return 0;
  unsigned long flags = 0;
  const std::pair<unsigned long, unsigned long> known[] = {
      {ST_NOSUID, MS_NOSUID},   {ST_NODEV, MS_NODEV},           {ST_NOEXEC, MS_NOEXEC},
      {ST_NOATIME, MS_NOATIME}, {ST_NODIRATIME, MS_NODIRATIME}, {ST_RELATIME, MS_RELATIME}};
  for (const auto& [has, keep] : known) {
    if ((info.f_flag & has) != 0) flags |= keep;
  }
  return flags;
}

Result<std::vector<MountStep>> PlanMounts(const std::vector<MountPoint>& mounts,
                                          const std::string& root) {
  return MountPlanner(mounts, root).Run();
}

}  // namespace berth::local::cluster

#include "local/cluster/processes/image_view.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "local/images/root_folder.h"

namespace berth::local::cluster {
namespace {

namespace fs = std::filesystem;
using StepKind = MountStep::Kind;

constexpr long kOverlay = 0x794c7630;  // statfs(2): a folder that cannot be an upper one
constexpr const char* kDevices[] = {"null", "zero", "full", "random", "urandom", "tty"};

Error RefuseView(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

bool IsBelowPath(const std::string& path, const std::string& folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

class ImageViewPlanner {
 public:
  ImageViewPlanner(const images::RootFolder& files, const ImageScratch& scratch)
      : files_(files), root_(scratch.root) {}

  Status AddOverlay(const std::string& lower, const ImageScratch& scratch) {
    for (const std::string& path : {lower, scratch.upper, scratch.work}) {
      if (path.find_first_of(",:\\\n") == std::string::npos) continue;
      return RefuseView(path +
                        ": the path of an image has no commas, colons and backslashes: "
                        "choose another --data-dir");
    }
    std::string upper = scratch.upper;
    std::string work = scratch.work;
    struct statfs info {};
    if (statfs(upper.c_str(), &info) == 0 && info.f_type == kOverlay) {
      // The scratch folder is itself on an overlay file system, which cannot be the upper folder of
      // another overlay. Use a tmpfs.
      const std::string memory = fs::path(scratch.upper).parent_path().string() + "/memory";
      Add(StepKind::kFolder, memory);
      Add(StepKind::kEmpty, memory);
      upper = memory + "/upper";
      work = memory + "/work";
      Add(StepKind::kFolder, upper);
      Add(StepKind::kFolder, work);
    }
    steps_.push_back(
        {StepKind::kOverlay,
         fmt::format("lowerdir={},upperdir={},workdir={},userxattr", lower, upper, work), root_});
    return OkStatus();
  }

  // /proc and /dev, which every program expects.
  Status AddSystem() {
    for (const std::string folder : {"/proc", "/dev"}) {
      BERTH_TRY(const auto place, files_.Locate(folder));
      if (place.missing.empty() && place.existing != folder) {
        return RefuseView("the image has a link at " + folder);
      }
      Add(StepKind::kFolder, root_ + folder);
    }
    steps_.push_back({StepKind::kBind, "/proc", root_ + "/proc"});
    const std::string dev = root_ + "/dev";
    Add(StepKind::kEmpty, dev);
    for (const std::string name : kDevices) {
      Add(StepKind::kFile, dev + "/" + name);
      steps_.push_back({StepKind::kBind, "/dev/" + name, dev + "/" + name});
    }
    for (const std::string name : {"shm", "pts"}) Add(StepKind::kFolder, dev + "/" + name);
    Add(StepKind::kEmpty, dev + "/shm");
    Add(StepKind::kOpen, dev + "/shm");
    steps_.push_back({StepKind::kShow, "/dev/pts", dev + "/pts"});
    const std::pair<const char*, const char*> links[] = {{"/proc/self/fd", "fd"},
                                                         {"/proc/self/fd/0", "stdin"},
                                                         {"/proc/self/fd/1", "stdout"},
                                                         {"/proc/self/fd/2", "stderr"},
                                                         {"pts/ptmx", "ptmx"}};
    for (const auto& [text, name] : links) {
      steps_.push_back({StepKind::kLink, text, dev + "/" + name});
    }
    return OkStatus();
  }

  // A file of the machine that the image may lack; one whose place leads nowhere is left out.
  void AddFile(const std::string& source, const std::string& target) {
    std::error_code error;
    if (source.empty() || !fs::is_regular_file(source, error)) return;
    const auto place = files_.Locate(target);
    if (!place || place->existing.starts_with("/proc") || place->existing.starts_with("/dev")) {
      return;
    }
    if (place->missing.empty() ? place->is_folder : !place->is_folder) return;
    BindAt(source, *place, false);
  }

  Status AddMount(const MountPoint& mount) {
    std::error_code error;
    const bool is_folder = fs::is_directory(mount.source, error);
    if (!fs::exists(mount.source, error)) return RefuseView(mount.source + " is not there");
    const auto outer = std::find_if(mounts_.rbegin(), mounts_.rend(), [&](const MountPoint* one) {
      return IsBelowPath(mount.target, one->target);
    });
    if (outer != mounts_.rend()) return AddInner(**outer, mount, is_folder);
    const auto place = files_.Locate(mount.target);
    if (!place) return RefuseView("mountPath " + mount.target + ": " + place.error().message);
    if (place->missing.empty() && place->is_folder != is_folder) {
      return RefuseView(fmt::format("mountPath {}: the image has a {} there, the volume a {}",
                                    mount.target, place->is_folder ? "folder" : "file",
                                    is_folder ? "folder" : "file"));
    }
    if (place->missing.empty() && place->existing == "/") {
      return RefuseView("mountPath " + mount.target + ": is the root of the image");
    }
    const std::string at = BindAt(mount.source, *place, is_folder);
    if (mount.read_only) steps_.push_back({StepKind::kReadOnly, "", at, MountFlags(mount.source)});
    mounts_.push_back(&mount);
    places_.push_back(at);
    return OkStatus();
  }

  Status AddWorkingFolder(const std::string& folder) {
    if (std::any_of(mounts_.begin(), mounts_.end(), [&](const MountPoint* mount) {
          return folder == mount->target || IsBelowPath(folder, mount->target);
        })) {
      return OkStatus();
    }
    const auto place = files_.Locate(folder);
    if (!place) return RefuseView("workingDir " + folder + ": " + place.error().message);
    if (!place->is_folder)
      return RefuseView("workingDir " + folder + ": is no folder of the image");
    MakeFolders(*place);
    return OkStatus();
  }

  std::vector<MountStep> Take() {
    steps_.push_back({StepKind::kPivot, "", root_});
    return std::move(steps_);
  }

 private:
  void Add(StepKind kind, const std::string& to) { steps_.push_back({kind, "", to}); }

  std::string MakeFolders(const images::RootFolder::Location& place) {
    std::string at = place.existing == "/" ? root_ : root_ + place.existing;
    for (const fs::path& part : fs::path(place.missing)) {
      at += "/" + part.string();
      Add(StepKind::kFolder, at);
    }
    return at;
  }

  // Shows `source` there, and says where that is.
  std::string BindAt(const std::string& source, const images::RootFolder::Location& place,
                     bool is_folder) {
    std::string at;
    if (is_folder || place.missing.empty()) {
      at = MakeFolders(place);
    } else {
      const fs::path missing = place.missing;
      at = MakeFolders({place.existing, missing.parent_path().string(), true}) + "/" +
           missing.filename().string();
      Add(StepKind::kFile, at);
    }
    steps_.push_back({StepKind::kBind, source, at});
    return at;
  }

  // A volume in a volume: the outer one gets the mount point, which no link of it may replace.
  Status AddInner(const MountPoint& outer, const MountPoint& mount, bool is_folder) {
    const std::string rest = mount.target.substr(outer.target.size());
    BERTH_TRY(const images::RootFolder files, images::RootFolder::Open(outer.source));
    BERTH_TRY(std::vector<std::string> parts, images::PathParts(rest));
    const std::string name = parts.back();
    if (!is_folder) parts.pop_back();
    BERTH_CHECK_OK(files.MakeFolder(parts));
    if (!is_folder && !files.ReadFile(rest, 0)) {
      return RefuseView("mountPath " + mount.target + ": the volume around it has no such file");
    }
    BERTH_TRY(const auto place, files.Locate(rest));
    const auto at = std::find(mounts_.begin(), mounts_.end(), &outer);
    const std::string to = places_[static_cast<std::size_t>(at - mounts_.begin())] + place.existing;
    steps_.push_back({StepKind::kBind, mount.source, to});
    if (mount.read_only) steps_.push_back({StepKind::kReadOnly, "", to, MountFlags(mount.source)});
    mounts_.push_back(&mount);
    places_.push_back(to);
    return OkStatus();
  }

  const images::RootFolder& files_;
  const std::string root_;
  std::vector<const MountPoint*> mounts_;
  std::vector<std::string> places_;  // the places of mounts_
  std::vector<MountStep> steps_;
};

}  // namespace

ImageScratch ImageScratchIn(const std::string& folder) {
  return {folder + "/root", folder + "/upper", folder + "/work"};
}

Result<ImageScratch> MakeImageScratch(const std::string& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  const ImageScratch scratch = ImageScratchIn(folder);
  for (const std::string& path : {scratch.root, scratch.upper, scratch.work}) {
    fs::create_directories(path, error);
    if (!error) fs::permissions(path, fs::perms(0755), error);
    if (error) return Error{ErrorCode::kUnavailable, path + ": " + error.message()};
  }
  return scratch;
}

Result<std::vector<MountStep>> PlanImageView(const images::ImageRoot& image,
                                             const ImageScratch& scratch,
                                             const ImageViewRequest& request) {
  BERTH_TRY(const images::RootFolder files, images::RootFolder::Open(image.folder));
  ImageViewPlanner planner(files, scratch);
  BERTH_CHECK_OK(planner.AddOverlay(image.folder, scratch));
  BERTH_CHECK_OK(planner.AddSystem());
  planner.AddFile(request.hosts_path, "/etc/hosts");
  planner.AddFile("/etc/resolv.conf", "/etc/resolv.conf");
  for (const MountPoint& mount : request.mounts) BERTH_CHECK_OK(planner.AddMount(mount));
  BERTH_CHECK_OK(planner.AddWorkingFolder(request.working_folder));
  return planner.Take();
}

Status UseProgramOfImage(const images::ImageRoot& image, ProcessSpec& process) {
  std::string path;
  for (const std::string& variable : process.env) {
    if (variable.starts_with("PATH=")) path = variable.substr(5);
  }
  BERTH_TRY(process.program,
            images::FindProgram(image, process.argv.empty() ? "" : process.argv[0], path));
  return OkStatus();
}

}  // namespace berth::local::cluster

#include "local/cluster/kubelet/image_mounts.h"

#include <cstdint>
#include <optional>

#include <unistd.h>

#include "local/cluster/objects/fields.h"
#include "local/cluster/processes/image_view.h"

namespace berth::local::cluster {
namespace {

// No volume has a name with a dot in front.
constexpr char kImagePrefix[] = ".image-";

// The text of a variable of the program, with the pod's own before the image's.
std::string VariableOf(const std::string& name, const Environment& own,
                       const images::ImageRoot& image) {
  for (auto variable = own.rbegin(); variable != own.rend(); ++variable) {
    if (variable->first == name) return variable->second;
  }
  const auto found = image.environment.find(name);
  return found == image.environment.end() ? "" : found->second;
}

// securityContext of the container, else of the pod, else what the image says.
Result<images::ImageRoot> UserOf(const Json& pod, const Json& container,
                                 const images::ImageRoot& image) {
  images::ImageRoot with_user = image;
  const auto asked = [&](const char* field) -> std::optional<std::int64_t> {
    if (const auto own = OptionalIntAt(container, {"securityContext", field})) return own;
    return OptionalIntAt(pod, {"spec", "securityContext", field});
  };
  if (const auto user = asked("runAsUser")) {
    BERTH_CHECK_OK(images::SetUser(with_user, std::to_string(*user)));
  }
  if (const auto group = asked("runAsGroup")) with_user.group = *group;
  if (BoolAt(container, {"securityContext", "runAsNonRoot"}) && with_user.user == 0) {
    return Error{ErrorCode::kInvalid, "container has runAsNonRoot and image will run as root"};
  }
  return with_user;
}

}  // namespace

std::string ImageMounts::Folder(const Json& pod, const std::string& container) const {
  return folders_.VolumesFolder(pod) + "/" + kImagePrefix + container;
}

Status ImageMounts::Prepare(const Json& pod, const std::string& container) const {
  const auto scratch = MakeImageScratch(Folder(pod, container));
  return scratch ? OkStatus() : Status(scratch.error());
}

Status ImageMounts::AddTo(ProcessSpec& process, const Json& pod, const Json& container,
                          const Environment& own, const images::ImageRoot& image) const {
  BERTH_TRY(const images::ImageRoot with_user, UserOf(pod, container, image));
  ImageViewRequest request;
  BERTH_TRY(request.mounts, mounts_.PointsOf(pod, container, own));
  if (process.network) request.hosts_path = process.network->hosts_path;
  request.working_folder = StringAt(container, {"workingDir"}, image.working_folder);
  if (request.working_folder.empty() || request.working_folder.front() != '/') {
    return Error{ErrorCode::kInvalid,
                 "workingDir \"" + request.working_folder + "\": write an absolute path"};
  }
  process.start_folder = request.working_folder;
  const std::string name = StringAt(container, {"name"});
  BERTH_TRY(process.mounts, PlanImageView(image, ImageScratchIn(Folder(pod, name)), request));
  process.has_own_root = true;
  if (process.argv.empty()) {
    return Error{ErrorCode::kInvalid, "the image names no program: give the container a command"};
  }
  BERTH_TRY(process.program,
            images::FindProgram(image, process.argv[0], VariableOf("PATH", own, image)));
  if (process.user) return OkStatus();  // --job-user
  const auto user = static_cast<uid_t>(with_user.user);
  const auto group = static_cast<gid_t>(with_user.group);
  if (geteuid() != 0) {
    process.seen_as = {user, group};
  } else if (user != 0 || group != 0) {
    process.user = ProcessUser{std::to_string(user), user, group, {group}};
  }
  return OkStatus();
}

}  // namespace berth::local::cluster

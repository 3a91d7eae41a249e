#include "local/cluster/kubelet/volume_writer.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "local/cluster/kubelet/data_objects.h"
#include "local/cluster/kubelet/pod_account.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/volumes/volume_controller.h"

namespace berth::local::cluster {
namespace {

namespace fs = std::filesystem;

constexpr Duration kRenewalRetry = std::chrono::seconds(10);

Error Refuse(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

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

}  // namespace

// Whether the pod's claims are bound to folders that are there.
Status VolumeWriter::HasClaims(const Json& pod) const {
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
Status VolumeWriter::HasMachinePaths(const Json& pod) const {
  BERTH_TRY(const std::vector<MachinePath> paths, MachinePathsOf(pod));
  for (const MachinePath& path : paths) {
    const Status is_there = services_.has_job_user
                                ? Refuse("hostPath is not served with berth up --job-user")
                                : CheckMachinePath(path.path, path.type);
    if (is_there) continue;
    return Refuse(fmt::format("MountVolume.SetUp failed for volume \"{}\" : {}", path.volume,
                              is_there.error().message));
  }
  return OkStatus();
}

Result<std::vector<PodVolume>> VolumeWriter::ReadVolumes(const Json& pod, VolumeState& state) {
  return PlanVolumes(
      pod,
      [&](DataKind kind, const std::string& name) {
        return ReadData(services_.api, NamespaceOf(pod), kind, name, Entries::kAll);
      },
      [&](const std::string& audience, std::int64_t seconds) {
        const WallTime renewal = services_.clock.Now() + TokenRenewalDelay(seconds);
        if (!state.renew_tokens_at || renewal < *state.renew_tokens_at) {
          state.renew_tokens_at = renewal;
        }
        return TokenOfPod(services_.api, pod, audience, seconds);
      });
}

void VolumeWriter::RenewTokens(const Json& pod, VolumeState& state, bool has_programs) {
  const WallTime now = services_.clock.Now();
  if (!state.renew_tokens_at || now < *state.renew_tokens_at) return;
  state.renew_tokens_at.reset();
  if (!has_programs) return;  // the next start writes the files
  auto volumes = ReadVolumes(pod, state);
  Status written = volumes ? OkStatus() : Status(volumes.error());
  if (volumes) {
    std::erase_if(*volumes, [](const PodVolume& volume) { return !volume.has_token; });
    written = services_.folders.WriteVolumes(pod, *volumes);
  }
  if (written) return;
  services_.events.Record(pod, EventType::kWarning, "FailedMount", written.error().message);
  state.renew_tokens_at = now + kRenewalRetry;
}

void VolumeWriter::RenewStale(const Json& pod, VolumeState& state, bool has_programs) {
  const std::set<std::string> stale = std::exchange(state.stale, {});
  if (stale.empty() || !has_programs) return;  // the next start writes the files
  Json shown = pod;
  Json& sources = shown["spec"]["volumes"];
  Json kept = Json::array();
  for (const Json& source : sources) {
    if (stale.contains(StringAt(source, {"name"}))) kept.push_back(source);
  }
  sources = std::move(kept);
  const auto volumes = ReadVolumes(shown, state);
  const Status written = volumes ? services_.folders.WriteVolumes(pod, *volumes) : volumes.error();
  if (!written) {
    services_.events.Record(pod, EventType::kWarning, "FailedMount", written.error().message);
  }
}

Status VolumeWriter::Prepare(const Json& pod, VolumeState& state) {
  if (ArrayAt(pod, {"spec", "volumes"}).empty()) return OkStatus();
  const auto volumes = ReadVolumes(pod, state);
  Status written = volumes ? services_.folders.WriteVolumes(pod, *volumes) : volumes.error();
  if (written) written = HasClaims(pod);
  if (written) written = HasMachinePaths(pod);
  if (!written) {
    services_.events.Record(pod, EventType::kWarning, "FailedMount", written.error().message);
  }
  return written;
}

}  // namespace berth::local::cluster

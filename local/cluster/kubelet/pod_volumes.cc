#include "local/cluster/kubelet/pod_volumes.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

constexpr std::int64_t kDefaultMode = 0644;
constexpr std::int64_t kModes = 0777;
constexpr std::int64_t kDefaultTokenSeconds = 3600;

Error Refuse(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

// Whether a path stays in its folder.
bool IsInside(const std::string& path) {
  if (path.empty() || path.front() == '/') return false;
  for (const std::string_view part : Split(path, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

class VolumePlanner {
 public:
  VolumePlanner(const Json& pod, const DataLookup& lookup, const TokenLookup& tokens)
      : pod_(pod), lookup_(lookup), tokens_(tokens) {}

  Status Plan(const Json& source, PodVolume& volume) {
    for (const char* type : {"configMap", "secret", "downwardAPI", "projected"}) {
      const Json* found = Find(source, {type});
      if (found == nullptr) continue;
      mode_ = static_cast<std::uint32_t>(IntAt(*found, {"defaultMode"}, kDefaultMode) & kModes);
      if (std::string_view(type) != "projected") return AddSource(type, *found, volume);
      for (const Json& each : ArrayAt(*found, {"sources"})) {
        for (const char* part : {"configMap", "secret", "downwardAPI"}) {
          const Json* of = Find(each, {part});
          if (of != nullptr) BERTH_CHECK_OK(AddSource(part, *of, volume));
        }
        BERTH_CHECK_OK(AddToken(each, volume));
      }
    }
    return OkStatus();
  }

 private:
  Status AddSource(std::string_view type, const Json& source, PodVolume& volume) {
    if (type == "configMap") return AddData(DataKind::kConfigMap, "configmap", source, volume);
    if (type == "secret") return AddData(DataKind::kSecret, "secret", source, volume);
    return AddDownward(source, volume);
  }

  Status AddData(DataKind kind, const char* word, const Json& source, PodVolume& volume) {
    // A volume of a Secret names it otherwise than a projected one.
    const std::string name = StringAt(source, {"secretName"}, StringAt(source, {"name"}));
    const bool optional = BoolAt(source, {"optional"});
    const Json data = lookup_(kind, name);
    if (data.is_null()) {
      if (optional) return OkStatus();
      return Refuse(fmt::format("{} \"{}\" not found", word, name));
    }
    const Json& items = ArrayAt(source, {"items"});
    for (const Json& item : items) {
      const std::string key = StringAt(item, {"key"});
      const auto found = data.find(key);
      if (found != data.end()) {
        BERTH_CHECK_OK(Add(item, StringAt(item, {"path"}), StringAt(*found, {}), volume));
      } else if (!optional) {
        return Refuse(fmt::format("references non-existent {} key: {}",
                                  kind == DataKind::kSecret ? "secret" : "config", key));
      }
    }
    if (!items.empty()) return OkStatus();
    for (const auto& [key, value] : data.items()) {
      BERTH_CHECK_OK(Add(Json(), key, StringAt(value, {}), volume));
    }
    return OkStatus();
  }

  Status AddToken(const Json& source, PodVolume& volume) {
    const Json* token = Find(source, {"serviceAccountToken"});
    if (token == nullptr || tokens_ == nullptr) return OkStatus();
    BERTH_TRY(std::string text,
              tokens_(StringAt(*token, {"audience"}),
                      IntAt(*token, {"expirationSeconds"}, kDefaultTokenSeconds)));
    volume.has_token = true;
    return Add(Json(), StringAt(*token, {"path"}), std::move(text), volume);
  }

  Status AddDownward(const Json& source, PodVolume& volume) {
    for (const Json& item : ArrayAt(source, {"items"})) {
      std::string value;
      if (const Json* field = Find(item, {"fieldRef"}); field != nullptr) {
        value = DownwardField(pod_, StringAt(*field, {"fieldPath"}));
      } else if (const Json* resource = Find(item, {"resourceFieldRef"}); resource != nullptr) {
        value = DownwardResource(pod_, Json::object(), *resource);
      }
      BERTH_CHECK_OK(Add(item, StringAt(item, {"path"}), std::move(value), volume));
    }
    return OkStatus();
  }

  // A later source of a projected volume wins.
  Status Add(const Json& item, const std::string& path, std::string content, PodVolume& volume) {
    if (!IsInside(path)) {
      return Refuse(fmt::format(
          "path \"{}\" leads out of the volume: write a relative path without ..", path));
    }
    const auto mode = static_cast<std::uint32_t>(IntAt(item, {"mode"}, mode_) & kModes);
    const auto same = std::find_if(volume.files.begin(), volume.files.end(),
                                   [&path](const VolumeFile& file) { return file.path == path; });
    VolumeFile file{path, std::move(content), mode};
    if (same != volume.files.end()) {
      *same = std::move(file);
    } else {
      volume.files.push_back(std::move(file));
    }
    return OkStatus();
  }

  const Json& pod_;
  const DataLookup& lookup_;
  const TokenLookup& tokens_;
  std::uint32_t mode_ = kDefaultMode;
};

bool IsOfFiles(const Json& volume) {
  for (const char* type : {"configMap", "secret", "downwardAPI", "projected"}) {
    if (Find(volume, {type}) != nullptr) return true;
  }
  return false;
}

// The volumes that have a source of the type for which `is_it` holds, projected ones too.
template <typename Holds>
std::set<std::string> VolumesWith(const Json& pod, const char* type, const Holds& is_it) {
  std::set<std::string> names;
  for (const Json& volume : ArrayAt(pod, {"spec", "volumes"})) {
    const auto look = [&](const Json& holder) {
      const Json* source = Find(holder, {type});
      if (source != nullptr && is_it(*source)) names.insert(StringAt(volume, {"name"}));
    };
    look(volume);
    for (const Json& part : ArrayAt(volume, {"projected", "sources"})) look(part);
  }
  return names;
}

// A volume without a type is an emptyDir.
bool IsEmptyDir(const Json& volume) {
  return Find(volume, {"emptyDir"}) != nullptr || volume.size() == 1;
}

std::string NormalPath(const std::string& path) {
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  while (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal;
}

// The mount without its target; nullopt: the volume is of a type that is left out.
std::optional<PodMount> SourceOf(const Json& pod, const std::string& name,
                                 const std::string& folder, const ClaimFolders& claims) {
  if (const auto claim = claims.find(name); claim != claims.end()) {
    PodMount mount;
    mount.source = claim->second.path;
    mount.is_for_programs = true;
    mount.read_only = claim->second.read_only;
    return mount;
  }
  for (const Json& volume : ArrayAt(pod, {"spec", "volumes"})) {
    if (StringAt(volume, {"name"}) != name) continue;
    PodMount mount;
    if (const Json* machine = Find(volume, {"hostPath"}); machine != nullptr) {
      mount.source = NormalPath(StringAt(*machine, {"path"}));
      return mount;
    }
    mount.source = folder + "/" + name;
    mount.is_for_programs = IsEmptyDir(volume);
    mount.read_only = IsOfFiles(volume);
    if (!mount.is_for_programs && !mount.read_only) return std::nullopt;
    return mount;
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<PodVolume>> PlanVolumes(const Json& pod, const DataLookup& lookup,
                                           const TokenLookup& tokens) {
  std::vector<PodVolume> volumes;
  for (const Json& source : ArrayAt(pod, {"spec", "volumes"})) {
    PodVolume volume{.name = StringAt(source, {"name"}), .is_empty_dir = IsEmptyDir(source)};
    if (!volume.is_empty_dir && !IsOfFiles(source)) continue;
    if (!IsInside(volume.name)) return Refuse("volume name \"" + volume.name + "\" is no name");
    if (const Status planned = VolumePlanner(pod, lookup, tokens).Plan(source, volume); !planned) {
      return Refuse(fmt::format("MountVolume.SetUp failed for volume \"{}\" : {}", volume.name,
                                planned.error().message));
    }
    volumes.push_back(std::move(volume));
  }
  return volumes;
}

std::set<std::string> VolumesShowing(const Json& pod, DataKind kind, const std::string& name) {
  const char* type = kind == DataKind::kConfigMap ? "configMap" : "secret";
  return VolumesWith(pod, type, [&](const Json& source) {
    return StringAt(source, {"secretName"}, StringAt(source, {"name"})) == name;
  });
}

std::set<std::string> VolumesOfPodFields(const Json& pod) {
  return VolumesWith(pod, "downwardAPI", [](const Json&) { return true; });
}

Result<std::vector<MachinePath>> MachinePathsOf(const Json& pod) {
  std::vector<MachinePath> paths;
  for (const Json& volume : ArrayAt(pod, {"spec", "volumes"})) {
    const Json* source = Find(volume, {"hostPath"});
    if (source == nullptr) continue;
    const std::string path = StringAt(*source, {"path"});
    if (path.empty() || path.front() != '/') {
      return Refuse("hostPath \"" + path + "\": write an absolute path");
    }
    paths.push_back({StringAt(volume, {"name"}), NormalPath(path), StringAt(*source, {"type"})});
  }
  return paths;
}

Result<std::vector<PodMount>> MountsOf(const Json& pod, const Json& container,
                                       const std::string& folder, const Environment& environment,
                                       const ClaimFolders& claims) {
  std::vector<PodMount> mounts;
  for (const Json& declared : ArrayAt(container, {"volumeMounts"})) {
    auto mount = SourceOf(pod, StringAt(declared, {"name"}), folder, claims);
    if (!mount) continue;
    const std::string path = StringAt(declared, {"mountPath"});
    mount->target = NormalPath(path);
    if (path.empty() || path.front() != '/' || mount->target == "/") {
      return Refuse("mountPath \"" + path + "\": write an absolute path below /");
    }
    mount->sub_path = StringAt(declared, {"subPath"});
    if (const std::string text = StringAt(declared, {"subPathExpr"}); !text.empty()) {
      mount->sub_path = ExpandVariables(text, environment);
    }
    if (!mount->sub_path.empty() && !IsInside(mount->sub_path)) {
      return Refuse("subPath \"" + mount->sub_path +
                    "\" leads out of the volume: write a relative path without ..");
    }
    mount->read_only = mount->read_only || BoolAt(declared, {"readOnly"});
    mounts.push_back(*std::move(mount));
  }
  std::stable_sort(mounts.begin(), mounts.end(), [](const PodMount& a, const PodMount& b) {
    return a.target.size() < b.target.size();
  });
  return mounts;
}

}  // namespace berth::local::cluster

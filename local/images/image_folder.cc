#include "local/images/image_folder.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/architecture.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "local/images/image_errors.h"

namespace berth::local::images {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostUserFileBytes = 1024 * 1024;
constexpr int kMostIndexes = 4;  // in each other
constexpr char kUsualPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// A file of the folder in memory.
class MappedFile {
 public:
  static Result<MappedFile> Open(const std::string& path) {
    const OwnFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat info {};
    if (!file.is_open() || fstat(file.get(), &info) != 0) {
      return RefuseImage(path + ": " + std::strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) return RefuseImage(path + ": not a file");
    MappedFile mapped;
    mapped.size_ = static_cast<std::size_t>(info.st_size);
    if (mapped.size_ == 0) return mapped;
    void* start = mmap(nullptr, mapped.size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (start == MAP_FAILED) {
      return Error{ErrorCode::kUnavailable, path + ": " + std::strerror(errno)};
    }
    mapped.start_ = static_cast<const char*>(start);
    return mapped;
  }
  MappedFile(MappedFile&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), size_(other.size_) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile() {
    if (start_ != nullptr) munmap(const_cast<char*>(start_), size_);
  }
  std::string_view text() const { return {start_, start_ == nullptr ? 0 : size_}; }

 private:
  MappedFile() = default;
  const char* start_ = nullptr;
  std::size_t size_ = 0;
};

Result<std::string> ReadDocument(const std::string& path) {
  BERTH_TRY(const MappedFile file, MappedFile::Open(path));
  if (file.text().size() > static_cast<std::size_t>(kMostDocumentBytes)) {
    return RefuseImage(fmt::format("{}: longer than {} bytes", path, kMostDocumentBytes));
  }
  return std::string(file.text());
}

std::string BlobPath(const std::string& folder, const std::string& digest) {
  return folder + "/blobs/sha256/" + digest;
}

Status CheckBlob(const std::string& folder, const BlobReference& blob) {
  const std::string path = BlobPath(folder, blob.digest);
  BERTH_TRY(const MappedFile file, MappedFile::Open(path));
  if (static_cast<std::int64_t>(file.text().size()) != blob.bytes) {
    return RefuseImage(
        fmt::format("{}: has {} bytes, not {}", path, file.text().size(), blob.bytes));
  }
  if (Sha256Hex(file.text()) == blob.digest) return OkStatus();
  return RefuseImage(path + ": its content has another digest");
}

Result<std::string> ReadBlob(const std::string& folder, const BlobReference& blob) {
  if (blob.bytes > kMostDocumentBytes) {
    return RefuseImage(fmt::format("{}: longer than {} bytes", blob.digest, kMostDocumentBytes));
  }
  BERTH_CHECK_OK(CheckBlob(folder, blob));
  return ReadDocument(BlobPath(folder, blob.digest));
}

Status WithFile(const std::string& file, const Status& status) {
  if (status) return status;
  return Error{status.error().code, file + ": " + status.error().message};
}

struct Layout {
  std::string digest;
  ImageManifest manifest;
  ImageProgram program;
};

Result<Layout> ReadLayout(const std::string& folder) {
  BERTH_TRY(std::string text, ReadDocument(folder + "/index.json"));
  for (int depth = 0; depth < kMostIndexes; ++depth) {
    BERTH_TRY(const ManifestReference reference, ReadIndex(text, kArchitecture));
    BERTH_TRY(text, ReadBlob(folder, reference.blob));
    if (reference.is_index) continue;
    Layout layout;
    layout.digest = reference.blob.digest;
    BERTH_TRY(layout.manifest, ReadManifest(text));
    BERTH_TRY(const std::string config, ReadBlob(folder, layout.manifest.config));
    BERTH_TRY(layout.program, ReadImageConfig(config));
    return layout;
  }
  return RefuseImage(folder + "/index.json: too many indexes in each other");
}

Status MakeFolders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return Error{ErrorCode::kUnavailable, path + ": " + error.message()};
  return OkStatus();
}

// Unpacks beside `target`, which appears when it is complete.
Status Unpack(const std::string& folder, const Layout& layout, const std::string& target,
              const ImageLimits& limits) {
  const std::string beside = target + ".new";
  std::error_code error;
  fs::remove_all(beside, error);
  BERTH_CHECK_OK(MakeFolders(beside));
  fs::permissions(beside, fs::perms(0755), error);
  BERTH_TRY(const RootFolder root, RootFolder::Open(beside));
  ImageBudget budget{limits.most_bytes, limits.most_entries};
  Status status = OkStatus();
  for (const LayerReference& layer : layout.manifest.layers) {
    status = CheckBlob(folder, layer.blob);
    const std::string path = BlobPath(folder, layer.blob.digest);
    if (status) status = WithFile(path, ApplyLayer(path, layer.compression, root, budget));
    if (!status) break;
  }
  if (status) fs::rename(beside, target, error);
  if (status && !error) return OkStatus();
  const std::string words = error.message();
  fs::remove_all(beside, error);
  return status ? Error{ErrorCode::kUnavailable, target + ": " + words} : status;
}

std::optional<std::int64_t> Number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && number >= 0 &&
                         number <= std::numeric_limits<std::int32_t>::max();
  return is_number ? std::optional(number) : std::nullopt;
}

// The fields of the first line of /etc/passwd or /etc/group with this text in `field`.
std::vector<std::string_view> LineWith(std::string_view file, std::size_t field,
                                       std::string_view text) {
  for (const std::string_view line : Split(file, '\n')) {
    const auto fields = Split(line, ':');
    if (fields.size() > std::max<std::size_t>(field, 2) && fields[field] == text) {
      return {fields.begin(), fields.end()};
    }
  }
  return {};
}

Result<ImageRoot> WithProgram(ImageRoot root, ImageProgram program) {
  root.entrypoint = std::move(program.entrypoint);
  root.command = std::move(program.command);
  root.environment["PATH"] = kUsualPath;
  for (const std::string& variable : program.environment) {
    const std::size_t equals = variable.find('=');
    root.environment[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  if (!program.working_folder.empty()) root.working_folder = program.working_folder;
  BERTH_CHECK_OK(SetUser(root, program.user));
  return root;
}

Result<ImageRoot> OpenBundle(const std::string& folder) {
  BERTH_TRY(const std::string text, ReadDocument(folder + "/config.json"));
  auto program = ReadRuntimeConfig(text);
  if (!program) return RefuseImage(folder + "/" + program.error().message);
  ImageRoot root;
  std::error_code error;
  root.folder = fs::canonical(folder + "/rootfs", error).string();
  if (error) return RefuseImage(folder + "/rootfs: " + error.message());
  return WithProgram(std::move(root), *std::move(program));
}

}  // namespace

Result<ImageRoot> OpenImage(const std::string& folder, const std::string& store,
                            const ImageLimits& limits) {
  std::error_code error;
  if (!fs::exists(folder + "/index.json", error)) {
    if (fs::is_directory(folder + "/rootfs", error)) return OpenBundle(folder);
    return RefuseImage(folder + ": has neither index.json (an image layout) nor rootfs (a bundle)");
  }
  auto layout = ReadLayout(folder);
  if (!layout) return WithFile(folder, layout.error()).error();
  BERTH_CHECK_OK(MakeFolders(store));
  ImageRoot root;
  root.digest = layout->digest;
  const std::string target = store + "/" + layout->digest;
  if (!fs::is_directory(target, error)) {
    BERTH_CHECK_OK(Unpack(folder, *layout, target, limits));
  }
  root.folder = fs::canonical(target, error).string();
  if (error) return Error{ErrorCode::kUnavailable, target + ": " + error.message()};
  auto opened = WithProgram(std::move(root), std::move(layout->program));
  if (!opened) return WithFile(folder, opened.error()).error();
  return opened;
}

void KeepImages(const std::string& store, const std::vector<std::string>& digests) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(store, error)) {
    const std::string name = entry.path().filename().string();
    if (std::find(digests.begin(), digests.end(), name) != digests.end()) continue;
    fs::remove_all(entry.path(), error);
  }
}

Status SetUser(ImageRoot& root, const std::string& user) {
  BERTH_TRY(const RootFolder files, RootFolder::Open(root.folder));
  const std::string users = files.ReadFile("/etc/passwd", kMostUserFileBytes).value_or("");
  const std::size_t colon = user.find(':');
  const std::string name = user.substr(0, colon);
  const std::string group = colon == std::string::npos ? "" : user.substr(colon + 1);
  const std::optional<std::int64_t> number = name.empty() ? 0 : Number(name);
  const auto line = number ? LineWith(users, 2, std::to_string(*number)) : LineWith(users, 0, name);
  const auto field = [&line](std::size_t at) {
    return at < line.size() ? line[at] : std::string_view();
  };
  const auto id = number ? number : Number(field(2));
  if (!id)
    return RefuseImage(fmt::format("User \"{}\": /etc/passwd of the image has no such user", user));
  root.user = *id;
  root.group = Number(field(3)).value_or(0);
  root.home = field(5).starts_with('/') ? std::string(field(5)) : "/";
  if (group.empty()) return OkStatus();
  std::optional<std::int64_t> group_id = Number(group);
  if (!group_id) {
    const std::string groups = files.ReadFile("/etc/group", kMostUserFileBytes).value_or("");
    const auto group_line = LineWith(groups, 0, group);
    if (group_line.size() > 2) group_id = Number(group_line[2]);
  }
  if (!group_id) {
    return RefuseImage(fmt::format("User \"{}\": /etc/group of the image has no such group", user));
  }
  root.group = *group_id;
  return OkStatus();
}

Result<std::string> FindProgram(const ImageRoot& root, const std::string& name,
                                const std::string& path) {
  if (name.empty()) return RefuseImage("the image names no program: give a command");
  if (name.find('/') != std::string::npos) return name;
  BERTH_TRY(const RootFolder files, RootFolder::Open(root.folder));
  for (const std::string_view folder : Split(path, ':')) {
    if (!folder.starts_with('/')) continue;
    const std::string candidate = std::string(folder) + "/" + name;
    if (files.IsProgram(candidate)) return candidate;
  }
  return RefuseImage(name + ": no such program in the PATH of the image");
}

}  // namespace berth::local::images

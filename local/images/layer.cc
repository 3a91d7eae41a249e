#include "local/images/layer.h"

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include "local/images/image_errors.h"

namespace berth::local::images {
namespace {

constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";
constexpr std::size_t kBlockBytes = 1024 * 1024;
constexpr mode_t kFolderBits = 0700;  // this process makes files in every folder
constexpr mode_t kModeBits = 01777;

using Parts = std::vector<std::string>;

struct ArchiveEnd {
  void operator()(archive* one) const { archive_read_free(one); }
};
using Archive = std::unique_ptr<archive, ArchiveEnd>;

// libarchive converts names by the thread's locale; the project's programs have the locale "C".
class Utf8Names {
 public:
  Utf8Names()
      : names_(newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)),
        before_(names_ == nullptr ? nullptr : uselocale(names_)) {}
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;
  ~Utf8Names() {
    if (names_ == nullptr) return;
    uselocale(before_);
    freelocale(names_);
  }

 private:
  const locale_t names_;
  const locale_t before_;
};

// What libarchive last complained of; it names no reason for some files that end early.
std::string WordsOf(archive* reader) {
  const char* words = archive_error_string(reader);
  return words == nullptr ? "not a tar archive" : words;
}

Result<Archive> OpenArchive(const std::string& path, LayerCompression compression) {
  Archive reader(archive_read_new());
  if (reader == nullptr) return Error{ErrorCode::kUnavailable, "no memory for an archive"};
  archive_read_support_format_tar(reader.get());
  if (compression == LayerCompression::kGzip) archive_read_support_filter_gzip(reader.get());
  if (compression == LayerCompression::kZstd) archive_read_support_filter_zstd(reader.get());
  if (archive_read_open_filename(reader.get(), path.c_str(), kBlockBytes) != ARCHIVE_OK) {
    return RefuseImage(path + ": " + WordsOf(reader.get()));
  }
  return reader;
}

class LayerWriter {
 public:
  LayerWriter(archive* reader, const RootFolder& root, ImageBudget& budget)
      : reader_(reader), root_(root), budget_(budget), is_root_(geteuid() == 0) {}

  Status Run() {
    for (;;) {
      archive_entry* entry = nullptr;
      const int state = archive_read_next_header(reader_, &entry);
      if (state == ARCHIVE_EOF) return OkStatus();
      if (state < ARCHIVE_WARN) return RefuseImage(Words());
      if (--budget_.entries < 0) return RefuseImage("the image has too many files");
      const Status added = Add(entry);
      if (added) continue;
      return Error{added.error().code, "entry " + NameOf(entry) + ": " + added.error().message};
    }
  }

 private:
  std::string Words() const { return WordsOf(reader_); }

  static std::string NameOf(archive_entry* entry) {
    const char* name = archive_entry_pathname(entry);
    if (name == nullptr) name = archive_entry_pathname_utf8(entry);
    return name == nullptr ? "" : name;
  }

  Status Add(archive_entry* entry) {
    BERTH_TRY(Parts parts, PathParts(NameOf(entry)));
    if (parts.empty()) return OkStatus();  // the root itself
    const std::string name = parts.back();
    parts.pop_back();
    if (name.starts_with(kWhiteout)) return Whiteout(parts, name);
    BERTH_TRY(const OwnFile parent, root_.MakeFolder(parts));
    made_.insert(Path(parts, name));
    const char* link = archive_entry_hardlink(entry);
    if (link != nullptr) return AddHardLink(parent.get(), name, link);
    switch (archive_entry_filetype(entry)) {
      case AE_IFDIR: return AddFolder(parent.get(), name, entry);
      case AE_IFREG: return AddFile(parent.get(), name, entry);
      case AE_IFLNK: return AddLink(parent.get(), name, entry);
      case AE_IFIFO:
        BERTH_CHECK_OK(RemoveEntry(parent.get(), name));
        if (mkfifoat(parent.get(), name.c_str(), 0600) != 0) return SystemFailure("mkfifo");
        return Finish(parent.get(), name, entry);
      default: return OkStatus();  // device nodes
    }
  }

  static std::string Path(const Parts& parts, const std::string& name) {
    std::string path;
    for (const std::string& part : parts) path += part + "/";
    return path + name;
  }

  Status Whiteout(const Parts& parts, const std::string& name) {
    const auto folder = root_.FindFolder(parts);
    if (!folder) {
      return folder.error().code == ErrorCode::kNotFound ? OkStatus() : Status(folder.error());
    }
    if (name == kOpaque) return ClearFolder(*folder, Path(parts, ""));
    const std::string hidden = name.substr(kWhiteout.size());
    if (hidden.starts_with(kWhiteout)) return OkStatus();  // notes of other storage drivers
    if (hidden.empty() || hidden == "." || hidden == "..")
      return RefuseImage("names no file to remove");
    return ClearEntry(folder->get(), hidden, Path(parts, hidden));
  }

  // Removes what lower layers have in the folder; `path` ends with a slash, or is empty.
  Status ClearFolder(const OwnFile& folder, const std::string& path) {
    BERTH_TRY(const std::vector<std::string> names, EntriesOf(folder.get()));
    for (const std::string& name : names) {
      BERTH_CHECK_OK(ClearEntry(folder.get(), name, path + name));
    }
    return OkStatus();
  }

  Status ClearEntry(int folder, const std::string& name, const std::string& path) {
    const auto inner = made_.lower_bound(path + "/");
    const bool has_made =
        made_.contains(path) || (inner != made_.end() && inner->starts_with(path + "/"));
    if (!has_made) return RemoveEntry(folder, name);
    const OwnFile entry(
        openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    return entry.is_open() ? ClearFolder(entry, path + "/") : OkStatus();
  }

  Status AddFolder(int parent, const std::string& name, archive_entry* entry) {
    struct stat info {};
    const bool is_there = fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_there && !S_ISDIR(info.st_mode)) BERTH_CHECK_OK(RemoveEntry(parent, name));
    if (mkdirat(parent, name.c_str(), 0755) != 0 && errno != EEXIST) return SystemFailure("mkdir");
    return Finish(parent, name, entry);
  }

  Status AddFile(int parent, const std::string& name, archive_entry* entry) {
    BERTH_CHECK_OK(RemoveEntry(parent, name));
    {
      const OwnFile file(
          openat(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
      if (!file.is_open()) return SystemFailure("create");
      BERTH_CHECK_OK(WriteData(file.get()));
    }
    return Finish(parent, name, entry);
  }

  Status WriteData(int file) {
    for (;;) {
      const void* data = nullptr;
      std::size_t size = 0;
      la_int64_t at = 0;
      const int state = archive_read_data_block(reader_, &data, &size, &at);
      if (state == ARCHIVE_EOF) break;
      if (state < ARCHIVE_WARN) return RefuseImage(Words());
      budget_.bytes -= static_cast<std::int64_t>(size);
      if (budget_.bytes < 0) return RefuseImage("the image is too large");
      const char* from = static_cast<const char*>(data);
      while (size > 0) {
        const ssize_t count = pwrite(file, from, size, at);
        if (count <= 0) return SystemFailure("write");
        from += count;
        at += count;
        size -= static_cast<std::size_t>(count);
      }
    }
    return OkStatus();
  }

  Status AddLink(int parent, const std::string& name, archive_entry* entry) {
    const char* text = archive_entry_symlink(entry);
    if (text == nullptr) text = archive_entry_symlink_utf8(entry);
    if (text == nullptr || *text == '\0') return RefuseImage("a symbolic link without a target");
    BERTH_CHECK_OK(RemoveEntry(parent, name));
    if (symlinkat(text, parent, name.c_str()) != 0) return SystemFailure("symlink");
    return Finish(parent, name, entry);
  }

  Status AddHardLink(int parent, const std::string& name, const std::string& target) {
    BERTH_TRY(Parts parts, PathParts(target));
    if (parts.empty()) return RefuseImage("a link to the root");
    const std::string from = parts.back();
    parts.pop_back();
    const auto folder = root_.FindFolder(parts);
    if (!folder) return RefuseImage("the target " + target + " of the link is not there");
    struct stat info {};
    if (fstatat(folder->get(), from.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        S_ISDIR(info.st_mode)) {
      return RefuseImage("the target " + target + " of the link is not there");
    }
    struct stat own {};
    const bool is_same = fstatat(parent, name.c_str(), &own, AT_SYMLINK_NOFOLLOW) == 0 &&
                         own.st_ino == info.st_ino && own.st_dev == info.st_dev;
    if (is_same) return OkStatus();
    BERTH_CHECK_OK(RemoveEntry(parent, name));
    if (linkat(folder->get(), from.c_str(), parent, name.c_str(), 0) != 0) {
      return SystemFailure("link to " + target);
    }
    return OkStatus();
  }

  // Owner, mode and time.
  Status Finish(int parent, const std::string& name, archive_entry* entry) {
    const auto type = archive_entry_filetype(entry);
    if (is_root_ &&
        fchownat(parent, name.c_str(), static_cast<uid_t>(archive_entry_uid(entry)),
                 static_cast<gid_t>(archive_entry_gid(entry)), AT_SYMLINK_NOFOLLOW) != 0) {
      return SystemFailure("chown");
    }
    if (type == AE_IFLNK) return OkStatus();
    mode_t mode = archive_entry_perm(entry) & kModeBits;
    if (type == AE_IFDIR) mode |= kFolderBits;
    if (type == AE_IFREG) mode |= S_IRUSR;
    if (fchmodat(parent, name.c_str(), mode, 0) != 0) return SystemFailure("chmod");
    if (type != AE_IFREG || archive_entry_mtime_is_set(entry) == 0) return OkStatus();
    const timespec time{archive_entry_mtime(entry), archive_entry_mtime_nsec(entry)};
    const timespec times[] = {time, time};
    utimensat(parent, name.c_str(), times, AT_SYMLINK_NOFOLLOW);
    return OkStatus();
  }

  archive* const reader_;
  const RootFolder& root_;
  ImageBudget& budget_;
  const bool is_root_;
  std::set<std::string> made_;  // paths of this layer, which whiteouts leave
};

}  // namespace

Status ApplyLayer(const std::string& archive, LayerCompression compression, const RootFolder& root,
                  ImageBudget& budget) {
  const Utf8Names names;
  BERTH_TRY(const Archive reader, OpenArchive(archive, compression));
  return LayerWriter(reader.get(), root, budget).Run();
}

}  // namespace berth::local::images

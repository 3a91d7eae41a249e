// local/images/root_folder.h — files below a folder that paths never leave.
//
// Paths are those of a program whose root is the folder: an absolute symbolic link starts at the
// folder, and ".." ends there. The kernel resolves them (openat2, RESOLVE_IN_ROOT), so that neither
// a link of an image nor one that changes meanwhile leads to the machine's files.
//
// Threads: any thread. Errors: kInvalid: the image's fault; kUnavailable: the machine's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/result.h"

namespace berth::local::images {

// A file descriptor that closes itself.
class OwnFile {
 public:
  explicit OwnFile(int file = -1) : file_(file) {}
  OwnFile(OwnFile&& other) noexcept;
  OwnFile& operator=(OwnFile&& other) noexcept;
  ~OwnFile();
  int get() const { return file_; }
  bool is_open() const { return file_ >= 0; }

 private:
  int file_;
};

// The parts of a path of an archive without "." and slashes; empty: the root. kInvalid: "..", a
// zero byte, more than 256 parts, a part of more than 255 bytes.
Result<std::vector<std::string>> PathParts(std::string_view path);

class RootFolder {
 public:
  static Result<RootFolder> Open(const std::string& path);

  // The folder of `parts`, links followed; missing folders are made, with mode 0755.
  Result<OwnFile> MakeFolder(const std::vector<std::string>& parts) const;
  // The folder of `parts`, links followed. kNotFound: there is none.
  Result<OwnFile> FindFolder(const std::vector<std::string>& parts) const;
  // The text of the regular file at `path`, at most `most` bytes; nullopt: there is none.
  std::optional<std::string> ReadFile(const std::string& path, std::size_t most) const;
  // Whether `path` is a regular file that somebody may execute.
  bool IsProgram(const std::string& path) const;

  // Where an absolute path leads: its longest existing part with links resolved, as an absolute
  // path within the root ("/" for the root itself), and the rest. kInvalid: the rest begins with a
  // link that leads nowhere.
  struct Location {
    std::string existing;
    std::string missing;  // "": everything is there
    bool is_folder = false;
  };
  Result<Location> Locate(const std::string& path) const;

 private:
  RootFolder(OwnFile folder, std::string path);
  int OpenIn(const std::string& path, int flags) const;
  OwnFile folder_;
  std::string path_;  // without links
};

// The names in the open folder.
Result<std::vector<std::string>> EntriesOf(int folder);

// Removes `name` of the open folder, with all that is in it; links are removed, not followed.
Status RemoveEntry(int folder, const std::string& name);

}  // namespace berth::local::images

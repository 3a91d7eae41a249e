// readapi/controller/session_folder.h — sessions of the page that outlive the program: one file for
// each, by the hash of its name, which only the holder of the cookie knows.
//
//     FOLDER (0700) / 64 hexadecimal digits (0600): format, hash of the user, end, sealed text
//
// The time of a file is that of the last use. A folder that holds anything else is refused.
//
// Threads: one at a time. Errors: kInvalid for a folder that is not a folder of sessions,
// kUnavailable for an error of the file system.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace berth::readapi {

struct StoredSession {
  std::string hash;        // the hash of the name: the file
  std::string user_hash;   // likewise 64 hexadecimal digits
  std::int64_t until = 0;  // seconds since 1970
  std::string sealed;      // the text that page_sessions.cc sealed
  WallTime used_at{};
  friend bool operator==(const StoredSession&, const StoredSession&) = default;
};

class SessionFolder {
 public:
  // Makes the folder; its parent exists. Removes the rights of other users.
  static Result<SessionFolder> Open(const std::string& path);

  // Returns the sessions in the order of `until`, at most the `most` that end last. Removes the
  // other files, and files that cannot be parsed.
  std::vector<StoredSession> Read(std::size_t most) const;
  Status Write(const StoredSession& session) const;
  // Sets the time of the last use.
  void Touch(const std::string& hash, WallTime used_at) const;
  void Remove(const std::string& hash) const;

 private:
  explicit SessionFolder(std::string path) : path_(std::move(path)) {}
  std::string PathOf(const std::string& hash) const { return path_ + "/" + hash; }

  std::string path_;
};

}  // namespace berth::readapi

// readapi/controller/session_folder.h — sessions of the page that outlive the program: one file for
// each, by the hash of its name, which its reader alone knows.
//
//     FOLDER (0700) / 64 hexadecimal digits (0600): format, hash of the user, end, sealed text
//
// The time of a file is that of the last use. A folder that holds anything else is refused.
//
// Threads: one at a time. Errors: kInvalid for a folder that is not ours, kUnavailable where the
// system refuses.
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
  // Makes the folder; its parent exists. Takes the rights of other users.
  static Result<SessionFolder> Open(const std::string& path);

  // In the order of `until`, at most `most`; removes the others and what cannot be parsed.
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

// readapi/controller/page_sessions.h — who is signed in to the page: tokens behind random names.
//
//     token ─ Begin ─▶ PageSession { name, csrf }       name: the cookie of a browser
//     name ─ Find ─▶ token, user                        of every request of the page
//     token ─ MakeCode ─▶ code ─ TakeCode ─▶ token      once, within code_life
//
// The token of a session is sealed with a key that its name gives (net/sealed_text.h), and found by
// the hash of the name: neither memory nor the files of a SessionFolder give a token to a reader
// without the cookie. Without a folder a restart of the process ends every session. The number of
// sessions is bounded, for each user and in all.
//
// Threads: any. Errors: nullopt, where noted. A session that cannot be written to the folder ends
// with the process, with a warning in the log.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "readapi/controller/session_folder.h"

namespace berth::readapi {

struct PageSession {
  std::string name;  // the value of the cookie; empty in what Find returns
  std::string csrf;  // a request that writes must name this text
  std::string user;
  std::string token;
};

class PageSessions {
 public:
  struct Options {
    Duration longest_life = std::chrono::hours(12);
    Duration longest_idle = std::chrono::hours(1);
    Duration code_life = std::chrono::minutes(5);
    std::size_t most_of_user = 16;  // one more ends the user's first session
    std::size_t most_sessions = 1024;
    std::size_t most_codes = 16;  // one more ends the oldest code
  };
  // `random` gives as many bytes as it is asked for, of a source for secrets.
  using RandomBytes = std::function<std::string(std::size_t)>;

  // `folder`: has the sessions of earlier runs; nullopt: memory alone.
  PageSessions(const Clock& clock, RandomBytes random, Options options,
               std::optional<SessionFolder> folder = std::nullopt);

  // nullopt: most_sessions are in use, or OpenSSL fails.
  std::optional<PageSession> Begin(const std::string& token, const std::string& user);
  // nullopt: no session has the name, or the session has ended. Counts as a use.
  std::optional<PageSession> Find(const std::string& name);
  void End(const std::string& name);

  std::string MakeCode(const std::string& token);
  // Returns the token of the code, and ends the code; nullopt: no such code.
  std::optional<std::string> TakeCode(const std::string& code);

  std::size_t size() const;
  const Options& options() const { return options_; }

 private:
  struct Entry {
    StoredSession stored;
    std::uint64_t number = 0;  // the order in which sessions began
    SteadyTime until{};
    SteadyTime idle_until{};
    SteadyTime next_touch{};  // until then the folder does not learn of uses
  };
  using Entries = std::map<std::string, Entry>;  // by the hash of the name
  struct Code {
    std::string hash;
    std::string token;
    SteadyTime until{};
  };

  std::string Secret();
  void ReadFolder();
  void Erase(Entries::iterator entry);
  void DropEnded(SteadyTime now);
  void MakeRoomFor(const std::string& user_hash);

  const Clock& clock_;
  const RandomBytes random_;
  const Options options_;
  mutable std::mutex mutex_;
  const std::optional<SessionFolder> folder_;
  Entries by_hash_;
  std::deque<Code> codes_;
  std::uint64_t begun_ = 0;
};

// Whether both are equal, in a time that does not depend on where they differ.
bool EqualSecrets(const std::string& a, const std::string& b);

}  // namespace berth::readapi

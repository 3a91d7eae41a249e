#include "readapi/controller/page_sessions.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "base/log/log.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "net/sealed_text.h"

namespace berth::readapi {
namespace {

using Json = nlohmann::json;

// The folder learns of a use this often in the longest idle time.
constexpr int kTouchesInIdleTime = 12;

// Bound to the sealed text: a file of another session, or with another end, is none.
std::string ContextOf(const StoredSession& stored) {
  return stored.hash + " " + stored.user_hash + " " + std::to_string(stored.until);
}

std::optional<PageSession> Unsealed(const StoredSession& stored, const std::string& name) {
  const auto text = net::UnsealText(name, ContextOf(stored), stored.sealed);
  const Json session = text ? api::ParseJsonOrNull(*text) : Json();
  if (!session.is_object()) return std::nullopt;
  return PageSession{.csrf = session.value("csrf", ""),
                     .user = session.value("user", ""),
                     .token = session.value("token", "")};
}

std::int64_t SecondsOf(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

}  // namespace

PageSessions::PageSessions(const Clock& clock, RandomBytes random, Options options,
                           std::optional<SessionFolder> folder)
    : clock_(clock), random_(std::move(random)), options_(options), folder_(std::move(folder)) {
  if (folder_) ReadFolder();
}

// Under a clock that was set back no session lives longer than one that begins now.
void PageSessions::ReadFolder() {
  const WallTime now = clock_.Now();
  const SteadyTime steady = clock_.SteadyNow();
  for (StoredSession& stored : folder_->Read(options_.most_sessions)) {
    const WallTime end{std::chrono::seconds(stored.until)};
    const Duration left = std::min(end - now, options_.longest_life);
    const Duration idle_left =
        std::min(stored.used_at + options_.longest_idle - now, options_.longest_idle);
    const std::string hash = stored.hash;
    by_hash_[hash] = {.stored = std::move(stored),
                      .number = ++begun_,
                      .until = steady + left,
                      .idle_until = steady + idle_left,
                      .next_touch = steady};
  }
  DropEnded(steady);
}

std::string PageSessions::Secret() {
  constexpr std::size_t kBytes = 32;
  return Base64UrlEncode(random_(kBytes));
}

void PageSessions::Erase(Entries::iterator entry) {
  if (folder_) folder_->Remove(entry->first);
  by_hash_.erase(entry);
}

void PageSessions::DropEnded(SteadyTime now) {
  for (auto at = by_hash_.begin(); at != by_hash_.end();) {
    const auto entry = at++;
    if (now >= entry->second.until || now >= entry->second.idle_until) Erase(entry);
  }
  std::erase_if(codes_, [now](const Code& code) { return now >= code.until; });
}

void PageSessions::MakeRoomFor(const std::string& user_hash) {
  std::size_t count = 0;
  auto first = by_hash_.end();
  for (auto at = by_hash_.begin(); at != by_hash_.end(); ++at) {
    if (at->second.stored.user_hash != user_hash) continue;
    ++count;
    if (first == by_hash_.end() || at->second.number < first->second.number) first = at;
  }
  if (count >= options_.most_of_user) Erase(first);
}

std::optional<PageSession> PageSessions::Begin(const std::string& token, const std::string& user) {
  const std::lock_guard lock(mutex_);
  const SteadyTime now = clock_.SteadyNow();
  DropEnded(now);
  const std::string user_hash = Sha256Hex(user);
  MakeRoomFor(user_hash);
  if (by_hash_.size() >= options_.most_sessions) return std::nullopt;
  PageSession session{.name = Secret(), .csrf = Secret(), .user = user, .token = token};
  StoredSession stored{.hash = Sha256Hex(session.name),
                       .user_hash = user_hash,
                       .until = SecondsOf(clock_.Now() + options_.longest_life),
                       .used_at = clock_.Now()};
  const Json hidden = {{"csrf", session.csrf}, {"user", user}, {"token", token}};
  Result<std::string> sealed = net::SealText(session.name, ContextOf(stored),
                                             api::FormatJson(hidden), random_(net::kNonceBytes));
  if (!sealed) return std::nullopt;
  stored.sealed = *std::move(sealed);
  if (folder_) {
    const Status written = folder_->Write(stored);
    if (!written) {
      LogWarning("a session of the page ends with the program",
                 {{"error", written.error().message}});
    }
  }
  const std::string hash = stored.hash;
  by_hash_[hash] = {.stored = std::move(stored),
                    .number = ++begun_,
                    .until = now + options_.longest_life,
                    .idle_until = now + options_.longest_idle,
                    .next_touch = now + options_.longest_idle / kTouchesInIdleTime};
  return session;
}

std::optional<PageSession> PageSessions::Find(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const SteadyTime now = clock_.SteadyNow();
  const auto found = by_hash_.find(Sha256Hex(name));
  if (found == by_hash_.end()) return std::nullopt;
  Entry& entry = found->second;
  std::optional<PageSession> session;
  if (now < entry.until && now < entry.idle_until) session = Unsealed(entry.stored, name);
  if (!session) {
    Erase(found);
    return std::nullopt;
  }
  entry.idle_until = now + options_.longest_idle;
  if (folder_ && now >= entry.next_touch) {
    folder_->Touch(found->first, clock_.Now());
    entry.next_touch = now + options_.longest_idle / kTouchesInIdleTime;
  }
  return session;
}

void PageSessions::End(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = by_hash_.find(Sha256Hex(name));
  if (found != by_hash_.end()) Erase(found);
}

std::string PageSessions::MakeCode(const std::string& token) {
  const std::lock_guard lock(mutex_);
  DropEnded(clock_.SteadyNow());
  if (codes_.size() >= options_.most_codes) codes_.pop_front();
  std::string code = Secret();
  codes_.push_back({Sha256Hex(code), token, clock_.SteadyNow() + options_.code_life});
  return code;
}

std::optional<std::string> PageSessions::TakeCode(const std::string& code) {
  const std::lock_guard lock(mutex_);
  DropEnded(clock_.SteadyNow());
  const auto found =
      std::find_if(codes_.begin(), codes_.end(),
                   [hash = Sha256Hex(code)](const Code& each) { return each.hash == hash; });
  if (found == codes_.end()) return std::nullopt;
  std::string token = std::move(found->token);
  codes_.erase(found);
  return token;
}

std::size_t PageSessions::size() const {
  const std::lock_guard lock(mutex_);
  return by_hash_.size();
}

bool EqualSecrets(const std::string& a, const std::string& b) {
  return Sha256Hex(a) == Sha256Hex(b);  // the hashes of guesses cannot be steered
}

}  // namespace berth::readapi

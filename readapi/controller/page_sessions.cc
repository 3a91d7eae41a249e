#include "readapi/controller/page_sessions.h"

#include <algorithm>
#include <utility>

#include "base/sha256.h"
#include "base/strings.h"

namespace berth::readapi {

PageSessions::PageSessions(const Clock& clock, RandomBytes random, Options options)
    : clock_(clock), random_(std::move(random)), options_(options) {}

std::string PageSessions::Secret() {
  constexpr std::size_t kBytes = 32;
  return Base64UrlEncode(random_(kBytes));
}

void PageSessions::DropEnded(SteadyTime now) {
  std::erase_if(by_hash_, [now](const auto& each) {
    return now >= each.second.session.until || now >= each.second.idle_until;
  });
  std::erase_if(codes_, [now](const Code& code) { return now >= code.until; });
}

void PageSessions::MakeRoomFor(const std::string& user) {
  std::size_t count = 0;
  auto first = by_hash_.end();
  for (auto at = by_hash_.begin(); at != by_hash_.end(); ++at) {
    if (at->second.session.user != user) continue;
    ++count;
    if (first == by_hash_.end() || at->second.number < first->second.number) first = at;
  }
  if (count >= options_.most_of_user) by_hash_.erase(first);
}

std::optional<PageSession> PageSessions::Begin(const std::string& token, const std::string& user) {
  const std::lock_guard lock(mutex_);
  const SteadyTime now = clock_.SteadyNow();
  DropEnded(now);
  MakeRoomFor(user);
  if (by_hash_.size() >= options_.most_sessions) return std::nullopt;
  PageSession session{.name = Secret(),
                      .csrf = Secret(),
                      .user = user,
                      .token = token,
                      .until = now + options_.longest_life};
  Entry& entry = by_hash_[Sha256Hex(session.name)];
  entry.session = session;
  entry.session.name.clear();
  entry.number = ++begun_;
  entry.idle_until = now + options_.longest_idle;
  return session;
}

std::optional<PageSession> PageSessions::Find(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const SteadyTime now = clock_.SteadyNow();
  const auto found = by_hash_.find(Sha256Hex(name));
  if (found == by_hash_.end()) return std::nullopt;
  if (now >= found->second.session.until || now >= found->second.idle_until) {
    by_hash_.erase(found);
    return std::nullopt;
  }
  found->second.idle_until = now + options_.longest_idle;
  return found->second.session;
}

void PageSessions::End(const std::string& name) {
  const std::lock_guard lock(mutex_);
  by_hash_.erase(Sha256Hex(name));
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

#include "local/apiserver/http/stream_sessions.h"

#include <algorithm>

#include "local/apiserver/http/share.h"

namespace berth::local {

bool StreamSessions::Add(const std::shared_ptr<StreamSession>& session, const std::string& user) {
  const std::lock_guard lock(mutex_);
  std::erase_if(all_, [](const One& one) { return one.session.expired(); });
  const auto held =
      std::count_if(all_.begin(), all_.end(), [&](const One& one) { return one.user == user; });
  if (!HasShare(static_cast<std::size_t>(held), all_.size(), kMostSessions)) return false;
  all_.push_back({session, user});
  return true;
}

void StreamSessions::CutIdle(SteadyTime now) {
  std::vector<std::shared_ptr<StreamSession>> idle;
  {
    const std::lock_guard lock(mutex_);
    for (One& one : all_) {
      const auto session = one.session.lock();
      if (session == nullptr) continue;
      if (session->TakeUsed() || one.used_at == SteadyTime{}) one.used_at = now;
      if (now - one.used_at >= kIdleTimeout) idle.push_back(session);
    }
  }
  for (const auto& session : idle) session->Cut();
}

std::size_t StreamSessions::count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(
      all_.begin(), all_.end(), [](const One& one) { return !one.session.expired(); }));
}

}  // namespace berth::local

#include "net/internal/server_core.h"

#include <algorithm>
#include <map>

#include "net/internal/server_session.h"

namespace berth::net {
namespace {

// Connections that are being closed in favour of others, at most: their memory is not free yet.
constexpr std::size_t kMostLeaving = 64;

}  // namespace

bool ServerCore::Add(const std::shared_ptr<ServerSession>& session) {
  const std::lock_guard lock(mutex);
  const std::string& peer = session->peer();
  const auto known = connections_of.find(peer);
  const std::size_t of_peer = known == connections_of.end() ? 0 : known->second;
  const std::size_t most = options.max_connections_per_peer;
  if (is_stopping || (most > 0 && of_peer >= most)) return false;
  if (sessions.size() >= options.max_connections && !MakeRoomFor(peer)) return false;
  ++connections_of[peer];
  sessions.insert(session);
  return true;
}

void ServerCore::Remove(const std::shared_ptr<ServerSession>& session) {
  const std::lock_guard lock(mutex);
  if (sessions.erase(session) > 0) {
    CountOut(session->peer());
  } else if (leaving.erase(session) == 0) {
    return;
  }
  if (sessions.empty() && leaving.empty()) changed.notify_all();
}

void ServerCore::CountOut(const std::string& peer) {
  const auto known = connections_of.find(peer);
  if (--known->second == 0) connections_of.erase(known);
}

bool ServerCore::MakeRoomFor(const std::string& peer) {
  if (leaving.size() >= kMostLeaving) return false;
  const auto known = connections_of.find(peer);
  const std::size_t of_peer = known == connections_of.end() ? 0 : known->second;
  std::shared_ptr<ServerSession> victim;
  std::size_t of_victim = 0;
  for (const auto& each : sessions) {
    const auto since = each->waits_since();
    if (!since) continue;
    const std::size_t of_each = connections_of.at(each->peer());
    if (of_each <= of_peer && each->peer() != peer) continue;
    const bool is_longer = victim == nullptr || of_each > of_victim ||
                           (of_each == of_victim && since < victim->waits_since());
    if (!is_longer) continue;
    victim = each;
    of_victim = of_each;
  }
  if (victim == nullptr) return false;
  CountOut(victim->peer());
  sessions.erase(victim);
  victim->Abort();
  leaving.insert(std::move(victim));
  return true;
}

bool ServerCore::TakeRequestRoom(const std::shared_ptr<ServerSession>& session, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  request_bytes[session] += bytes;
  all_request_bytes += bytes;
  if (all_request_bytes <= options.max_total_request_bytes) return true;
  const std::shared_ptr<ServerSession> largest = LargestSender();
  const bool is_own = largest->peer() == session->peer();
  // The room of a refused request is free at once: else another request would be refused for it.
  const std::shared_ptr<ServerSession>& gone = is_own ? session : largest;
  all_request_bytes -= request_bytes[gone];
  request_bytes.erase(gone);
  if (!is_own) largest->Abort();
  return !is_own;
}

std::shared_ptr<ServerSession> ServerCore::LargestSender() const {
  std::map<std::string_view, std::size_t> by_peer;
  for (const auto& [session, bytes] : request_bytes) by_peer[session->peer()] += bytes;
  const auto heaviest =
      std::max_element(by_peer.begin(), by_peer.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  std::shared_ptr<ServerSession> largest;
  std::size_t most = 0;
  for (const auto& [session, bytes] : request_bytes) {
    if (session->peer() != heaviest->first || bytes < most) continue;
    largest = session;
    most = bytes;
  }
  return largest;
}

void ServerCore::GiveRequestRoom(const std::shared_ptr<ServerSession>& session) {
  const std::lock_guard lock(mutex);
  const auto known = request_bytes.find(session);
  if (known == request_bytes.end()) return;
  all_request_bytes -= known->second;
  request_bytes.erase(known);
}

}  // namespace berth::net

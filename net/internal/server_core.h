// net/internal/server_core.h — the state that all sessions of one server share.
//
// Threads: any.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>

#include "net/server.h"

namespace berth::net {

class ServerSession;
struct TlsContext;

struct ServerCore {
  ServerCore(IoPool& server_pool, ServerOptions server_options, Handler server_handler)
      : pool(server_pool),
        options(std::move(server_options)),
        handler(std::move(server_handler)),
        identity(options.tls),
        client_ca_pem(options.client_ca_pem) {}

  // Returns false where the server is stopping, or has its maximum of connections, in all or from
  // this peer.
  bool Add(const std::shared_ptr<ServerSession>& session, const std::string& peer) {
    const std::lock_guard lock(mutex);
    if (is_stopping || sessions.size() >= options.max_connections) return false;
    if (options.max_connections_per_peer > 0) {
      const auto [known, added] = connections_of.try_emplace(peer, 0);
      if (known->second >= options.max_connections_per_peer) return false;
      ++known->second;
    }
    sessions.insert(session);
    return true;
  }

  // The last call of a session.
  void Remove(const std::shared_ptr<ServerSession>& session, const std::string& peer) {
    const std::lock_guard lock(mutex);
    if (sessions.erase(session) == 0) return;
    const auto known = connections_of.find(peer);
    if (known != connections_of.end() && --known->second == 0) connections_of.erase(known);
    if (sessions.empty()) changed.notify_all();
  }

  // Takes room for an answer that waits for its client; false: there is none. One answer alone may
  // have any size.
  bool TakeAnswerRoom(std::size_t bytes) {
    const std::size_t before = answer_bytes.fetch_add(bytes);
    if (before == 0 || before + bytes <= options.max_total_stream_backlog_bytes) return true;
    answer_bytes -= bytes;
    return false;
  }
  void GiveAnswerRoom(std::size_t bytes) { answer_bytes -= bytes; }

  IoPool& pool;
  const ServerOptions options;
  const Handler handler;
  // Bytes that wait in all streams; shared with streams that outlive the server.
  const std::shared_ptr<std::atomic<std::size_t>> stream_backlog =
      std::make_shared<std::atomic<std::size_t>>(0);

  std::atomic<std::size_t> answer_bytes = 0;  // of large answers that are being sent

  std::mutex mutex;  // guards the members below
  std::condition_variable changed;
  std::unordered_set<std::shared_ptr<ServerSession>> sessions;
  std::map<std::string, std::size_t> connections_of;  // by peer, where they are limited
  std::shared_ptr<TlsContext> tls;                    // made of the next two
  std::shared_ptr<const TlsIdentity> identity;
  std::string client_ca_pem;
  bool is_stopping = false;
  bool is_listening = true;
};

}  // namespace berth::net

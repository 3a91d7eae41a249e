// net/internal/server_core.h — the state that all sessions of one server share.
//
// Threads: any.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
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

  // Returns false where the server is stopping or has its maximum of connections.
  bool Add(const std::shared_ptr<ServerSession>& session) {
    const std::lock_guard lock(mutex);
    if (is_stopping || sessions.size() >= options.max_connections) return false;
    sessions.insert(session);
    return true;
  }

  // The last call of a session.
  void Remove(const std::shared_ptr<ServerSession>& session) {
    const std::lock_guard lock(mutex);
    sessions.erase(session);
    if (sessions.empty()) changed.notify_all();
  }

  IoPool& pool;
  const ServerOptions options;
  const Handler handler;
  // Bytes that wait in all streams; shared with streams that outlive the server.
  const std::shared_ptr<std::atomic<std::size_t>> stream_backlog =
      std::make_shared<std::atomic<std::size_t>>(0);

  std::mutex mutex;  // guards the members below
  std::condition_variable changed;
  std::unordered_set<std::shared_ptr<ServerSession>> sessions;
  std::shared_ptr<TlsContext> tls;  // made of the next two
  std::shared_ptr<const TlsIdentity> identity;
  std::string client_ca_pem;
  bool is_stopping = false;
  bool is_listening = true;
};

}  // namespace berth::net

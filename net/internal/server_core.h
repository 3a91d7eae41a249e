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
#include <unordered_map>
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

  // Returns false where the server is stopping; has its maximum of connections from this peer; or
  // has its maximum in all, and no connection may be closed in favour of this one.
  bool Add(const std::shared_ptr<ServerSession>& session);
  // The last call of a session.
  void Remove(const std::shared_ptr<ServerSession>& session);

  // Takes room for bytes of a request that is being read. False: there is no room for this peer.
  bool TakeRequestRoom(const std::shared_ptr<ServerSession>& session, std::size_t bytes);
  // The session's request is complete, or given up.
  void GiveRequestRoom(const std::shared_ptr<ServerSession>& session);

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

  std::atomic<std::size_t> answer_bytes = 0;  // bytes of large answers that are being sent

  std::mutex mutex;  // guards the members below
  std::condition_variable changed;
  std::unordered_set<std::shared_ptr<ServerSession>> sessions;
  std::unordered_set<std::shared_ptr<ServerSession>> leaving;  // closed in favour of others
  std::map<std::string, std::size_t> connections_of;           // by peer, without the leaving ones
  std::unordered_map<std::shared_ptr<ServerSession>, std::size_t> request_bytes;
  std::size_t all_request_bytes = 0;
  std::shared_ptr<TlsContext> tls;  // made from the next two members
  std::shared_ptr<const TlsIdentity> identity;
  std::string client_ca_pem;
  bool is_stopping = false;
  bool is_listening = true;

 private:
  // The functions below need the mutex.
  bool MakeRoomFor(const std::string& peer);
  void CountOut(const std::string& peer);
  // Finds the peer with the most bytes of unfinished requests, and returns its session with the
  // most of these bytes.
  std::shared_ptr<ServerSession> LargestSender() const;
};

}  // namespace berth::net

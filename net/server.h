// net/server.h — an HTTP/1.1 server, plain or TLS, safe to show to strangers.
//
//     listener ─accept─▶ session (one per connection) ─request─▶ Handler ─▶ Responder
//
// Limits on everything: header and body size, time to first byte, time for a whole request, idle
// time, number of connections, bytes queued for a slow reader of a stream.
//
// Threads: the handler is called on one of the server's I/O threads and must not block; Responder
// and Stream may be used from any thread, also after the connection has gone.
// Errors: parse errors, oversized and late requests are answered (400, 413, 431, 408) or cut by the
// server itself; the handler sees complete requests only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "net/http.h"

namespace berth::net {

class IoPool;

// A response that goes on: a watch, a log. Chunked transfer encoding. Dropping the last reference
// closes it.
class Stream {
 public:
  virtual ~Stream() = default;
  // Queues `bytes` as one chunk. False: the peer has gone, or it reads so slowly that more than
  // ServerOptions::max_stream_backlog_bytes were waiting already, or some of its bytes waited when
  // all streams together had reached max_total_stream_backlog_bytes: the connection has been cut.
  virtual bool Write(std::string bytes) = 0;
  // Bytes that wait for the peer to read.
  virtual std::size_t Backlog() const = 0;
  // Calls `below` once, on an I/O thread, when no more than `bytes` wait; at once where that is so
  // already, never once the peer has gone. The last callback given counts. For writers that pace
  // themselves: they pause instead of being cut.
  virtual void WhenBelow(std::size_t bytes, std::function<void()> below) = 0;
  // Ends the response after what is queued. Idempotent.
  virtual void Close() = 0;
  // Calls `gone` once, on an I/O thread, when the peer has gone or Close has finished; at once
  // where that has already happened. One callback at most.
  virtual void OnGone(std::function<void()> gone) = 0;
};

// The one answer to one request. Dropping it unanswered answers 500.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual void Send(Response response) = 0;
  // Sends the head at once, also before the first chunk.
  virtual std::shared_ptr<Stream> StartStream(int status, Headers headers) = 0;
};

using Handler = std::function<void(Request, std::shared_ptr<Responder>)>;

struct TlsIdentity {
  std::string certificate_chain_pem;
  std::string private_key_pem;
};

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;                  // 0: any free one, see HttpServer::port
  std::shared_ptr<const TlsIdentity> tls;  // null: plain HTTP
  std::string client_ca_pem;  // TLS only: client certificates are asked for and verified against it

  std::size_t max_header_bytes = 64 * 1024;
  std::size_t max_body_bytes = 3 * 1024 * 1024;
  std::size_t max_connections = 4096;
  std::size_t max_stream_backlog_bytes = 8 * 1024 * 1024;
  std::size_t max_total_stream_backlog_bytes = 256 * 1024 * 1024;
  Duration handshake_timeout = std::chrono::seconds(10);
  Duration request_timeout = std::chrono::seconds(30);  // from a request's first byte to its last
  Duration idle_timeout = std::chrono::seconds(120);    // between requests
  Duration write_timeout = std::chrono::seconds(30);    // without progress
};

class HttpServer {
 public:
  virtual ~HttpServer() = default;  // as Stop

  // Binds and listens. kUnavailable with the address in the message where the port is taken or may
  // not be bound; kInvalid where the TLS identity cannot be read.
  static Result<std::unique_ptr<HttpServer>> Start(IoPool& pool, ServerOptions options,
                                                   Handler handler);

  virtual std::uint16_t port() const = 0;
  // New connections are given this identity from now on.
  virtual Status ReplaceTls(std::shared_ptr<const TlsIdentity> tls) = 0;
  // Closes the listener and every connection; returns when no handler and no OnGone runs any more.
  // Idempotent. Must not be called on an I/O thread.
  virtual void Stop() = 0;
};

}  // namespace berth::net

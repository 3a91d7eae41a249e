// net/server.h — an HTTP/1.1 server, plain or TLS, that may be exposed to untrusted clients.
//
//     listener ─accept─▶ session (one per connection) ─request─▶ Handler ─▶ Responder
//
// Limits: header and body size, time to first byte, time for a whole request, idle time, number of
// connections in all and from one peer, bytes of unfinished requests, bytes queued for a slow
// reader of a stream or after an upgrade, or of large answers (more are 503), size of a message.
//
// One peer cannot use up what all peers share. If all connections are in use, a new connection
// replaces one that waits for a request. The replaced one belongs to the peer with the most
// connections, which must have more of them than the new connection's peer, or be the same peer. If
// the bytes of unfinished requests exceed their limit, the peer that holds the most of them loses a
// request. If this peer has sent the latest bytes, their request gets 503; otherwise the connection
// of the peer's largest request is closed.
//
// Threads: the handler is called on one of the server's I/O threads and must not block; Responder
// and Stream may be used on any thread, also after the connection is closed.
// Errors: the server answers malformed, oversized and late requests (400, 413, 431, 408) or cuts
// their connection; the handler gets complete requests only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "net/http.h"
#include "net/upgrade.h"

namespace berth::net {

class IoPool;

// A response of unknown length: a watch, a log. Chunked transfer encoding. Dropping the last
// reference closes the stream.
class Stream {
 public:
  virtual ~Stream() = default;
  // Queues `bytes` as one chunk. Returns false where the connection is closed: by the peer; because
  // more than ServerOptions::max_stream_backlog_bytes waited; or because bytes of this stream
  // waited when all streams together reached max_total_stream_backlog_bytes.
  virtual bool Write(std::string bytes) = 0;
  // The number of bytes that wait for the peer to read.
  virtual std::size_t Backlog() const = 0;
  // Calls `below` once, on an I/O thread, when at most `bytes` wait; at once if that is so already;
  // never if the connection is closed. A later call replaces the callback. A writer that pauses
  // until then is not cut.
  virtual void WhenBelow(std::size_t bytes, std::function<void()> below) = 0;
  // Ends the response after the queued bytes. Idempotent.
  virtual void Close() = 0;
  // Calls `gone` once, on an I/O thread, when the connection is closed or Close has finished; at
  // once if that has happened already. At most one callback.
  virtual void OnGone(std::function<void()> gone) = 0;
};

// Gives the one answer to a request. Dropping the Responder without an answer answers 500.
class Responder {
 public:
  virtual ~Responder() = default;
  // Whether the peer has closed the connection, or its sending side: such a peer waits for no
  // answer, as in Go's net/http. An answer is sent nevertheless where the connection is half open.
  virtual bool HasPeerLeft() const = 0;
  virtual void Send(Response response) = 0;
  // Sends the head at once, without waiting for the first chunk.
  virtual std::shared_ptr<Stream> StartStream(int status, Headers headers) = 0;
  // Answers a request of AsksForWebSocket or AsksForUpgrade. For a WebSocket, `protocol` is the one
  // chosen from the client's list, or ""; otherwise it is the name of the new protocol.
  virtual std::shared_ptr<Duplex> StartUpgrade(const Request& request, std::string protocol,
                                               Headers headers) = 0;
};

using Handler = std::function<void(Request, std::shared_ptr<Responder>)>;

struct TlsIdentity {
  std::string certificate_chain_pem;
  std::string private_key_pem;
};

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;                  // 0: any free port, see HttpServer::port
  std::shared_ptr<const TlsIdentity> tls;  // null: plain HTTP
  std::string
      client_ca_pem;  // TLS only; not empty: client certificates are requested and verified with it

  std::size_t max_header_bytes = 64 * 1024;
  std::size_t max_body_bytes = 3 * 1024 * 1024;
  std::size_t max_connections = 4096;
  std::size_t max_connections_per_peer = 0;  // from one address, or one /64 of IPv6; 0: no limit
  std::size_t max_total_request_bytes =
      128 * 1024 * 1024;  // limits requests above 64 KiB that are being read
  std::size_t max_stream_backlog_bytes = 8 * 1024 * 1024;
  std::size_t max_total_stream_backlog_bytes =
      256 * 1024 * 1024;  // also the limit of answers above 64 KiB
  std::size_t max_web_socket_message_bytes = 4 * 1024 * 1024;
  Duration handshake_timeout = std::chrono::seconds(10);
  Duration request_timeout = std::chrono::seconds(30);  // from a request's first byte to its last
  Duration idle_timeout = std::chrono::seconds(120);    // between two requests
  Duration write_timeout = std::chrono::seconds(30);    // without progress
};

class HttpServer {
 public:
  virtual ~HttpServer() = default;  // calls Stop

  // Binds and listens. Errors: kUnavailable with the address where the port is taken or may not be
  // bound; kInvalid for a bad TLS identity.
  static Result<std::unique_ptr<HttpServer>> Start(IoPool& pool, ServerOptions options,
                                                   Handler handler);

  virtual std::uint16_t port() const = 0;
  // The IP address of the listener: that of the options, unless the machine has given the program
  // another one for "0.0.0.0", as `berth up` does in pods.
  virtual std::string address() const = 0;
  // Gives new connections this identity.
  virtual Status ReplaceTls(std::shared_ptr<const TlsIdentity> tls) = 0;
  // Verifies the client certificates of new connections with this CA; empty: requests none. Ends
  // the open connections, whose certificates another CA has verified.
  virtual Status ReplaceClientCa(std::string client_ca_pem) = 0;
  // Closes the listener and every connection; returns when no handler and no OnGone callback runs.
  // Idempotent. Must not be called on an I/O thread.
  virtual void Stop() = 0;
};

}  // namespace berth::net

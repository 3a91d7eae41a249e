// net/client.h — an HTTP/1.1 client for one origin, with a bounded pool of persistent connections.
//
// Replay rule: a request on a reused connection that got no response byte is sent again once, GET
// and HEAD only. For every other method the outcome is unknown, and the error is kDeadlineExceeded
// or kUnavailable. Redirects are not followed. 1xx answers are skipped.
//
// Threads: every function may be called from any thread; callbacks run on an I/O thread, exactly
// once each, never inside the call that started the request.
// Errors: kUnavailable (resolve, connect, TLS, connection lost, malformed answer),
// kDeadlineExceeded (the request's timeout), kInvalid (larger than a limit). An HTTP status of 400
// and up is a Response, not an error.
// Source: docs/develop/decisions/0003-http.md lists the requirements.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "net/http.h"
#include "net/server.h"  // TlsIdentity

namespace berth::net {

class IoPool;

struct ClientOptions {
  std::string base_url;  // "https://127.0.0.1:6443" or "http://…"; its path is a prefix
  std::string ca_pem;    // trusted roots; empty: the system's
  bool takes_any_certificate = false;  // no check: any server certificate is accepted
  std::string
      server_name;  // for SNI and the certificate check, where the name differs from the URL's host
  std::shared_ptr<const TlsIdentity> certificate;  // null: none
  std::string bearer_token;                        // empty: none
  // "http://proxy:3128", optionally with user:password@; all connections go through a tunnel
  // (CONNECT). Empty: no proxy.
  std::string proxy_url;
  std::string user_agent = "berth";
  std::size_t max_connections = 64;  // connections of requests; those of streams are not counted
  std::size_t max_waiting =
      4096;  // requests that wait for a connection; more fail with kUnavailable
  std::size_t max_header_bytes = 64 * 1024;
  std::size_t max_body_bytes = 64 * 1024 * 1024;
};

// Keeps a stream open; destruction, or Cancel, ends it without further callbacks (a callback that
// is running on another thread may finish).
class StreamHandle {
 public:
  virtual ~StreamHandle() = default;
  virtual void Cancel() = 0;
};

struct StreamCallbacks {
  std::function<void(int status, const Headers& headers)> on_head;
  std::function<void(std::string_view bytes)> on_data;  // pieces of any size
  std::function<void(Status)> on_end;  // once; OK: the peer ended the response regularly
};

class HttpClient {
 public:
  // Ends open requests and streams with kUnavailable; returns when the last callback has returned.
  // On an I/O thread it returns at once.
  virtual ~HttpClient() = default;

  // Errors: kInvalid for a bad URL or PEM.
  static Result<std::unique_ptr<HttpClient>> Create(IoPool& pool, ClientOptions options);

  // `request.target` begins with '/'. `timeout` covers queueing, connecting, sending and receiving.
  virtual void Send(Request request, Duration timeout,
                    std::function<void(Result<Response>)> done) = 0;

  // Requests a response without an end. `silence` is the longest time without a byte; then on_end
  // gets kDeadlineExceeded.
  virtual std::unique_ptr<StreamHandle> Open(Request request, Duration silence,
                                             StreamCallbacks callbacks) = 0;

  // Sends and waits for the answer; for the CLI and tests. Must not be called on an I/O thread.
  Result<Response> SendAndWait(Request request, Duration timeout);
};

}  // namespace berth::net

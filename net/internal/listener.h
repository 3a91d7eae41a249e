// net/internal/listener.h — accepts connections and passes them to a callback, hiding Asio.
//
// Threads: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/internal/byte_stream.h"

namespace berth::net {

class Listener {
 public:
  struct Callbacks {
    // Called for each connection; calls do not overlap. `peer`: the bytes of its IPv4 address, or
    // of the first half of its IPv6 address; empty: unknown.
    std::function<void(Strand strand, std::unique_ptr<Transport> transport, std::string peer)>
        on_connection;
    // Returns the TLS context of the next connection; null: the connection is plain.
    std::function<std::shared_ptr<TlsContext>()> tls;
    std::function<void()> on_closed;  // once, after Close; the last callback
  };

  // Binds and listens; Open begins to accept. Errors: kUnavailable with the address if it cannot be
  // bound, kInvalid if it is no IP address.
  static Result<std::shared_ptr<Listener>> Bind(IoPool& pool, const std::string& address,
                                                std::uint16_t port);
  virtual ~Listener() = default;

  virtual void Open(Callbacks callbacks) = 0;
  virtual void Close() = 0;
  virtual std::uint16_t port() const = 0;
  virtual std::string address() const = 0;  // the same as HttpServer::address
};

}  // namespace berth::net

// net/tcp_stream.h — a TCP connection to a server, as bytes in both directions.
//
// Reads and writes one piece at a time, so that a slow side stops the other. Dropping the last
// reference closes the connection.
//
// Threads: any; callbacks run on a thread of the pool and must not block. Each callback runs once,
// also at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace berth::net {

class IoPool;

class TcpStream {
 public:
  using OnConnected = std::function<void(Result<std::shared_ptr<TcpStream>>)>;
  // Errors: kUnavailable: refused; kDeadlineExceeded; kInvalid: `address` is no IP address.
  static void Connect(IoPool& pool, const std::string& address, std::uint16_t port,
                      Duration timeout, OnConnected connected);
  virtual ~TcpStream() = default;

  // nullopt: the peer has ended its side, or the connection. Precondition: no other Read runs.
  virtual void Read(std::function<void(std::optional<std::string>)> on_bytes) = 0;
  // `written`: whether the system has taken the bytes. Precondition: no other Write runs.
  virtual void Write(std::string bytes, std::function<void(bool)> written) = 0;
  // Ends this side, after the last Write; the peer may go on. Idempotent.
  virtual void EndWrites() = 0;
  virtual void Close() = 0;  // at once; idempotent
};

}  // namespace berth::net

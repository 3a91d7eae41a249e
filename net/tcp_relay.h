// net/tcp_relay.h — one address and port that stands for several: a balancer of TCP connections.
//
//     client ──▶ address:port ──(in turn)──▶ target 1, target 2, …
//
// If a target refuses the connection, the next target is tried. When none accepts, the connection
// is closed. Open connections outlive a change of the targets, and the relay; they end with the
// pool. Both directions are copied until both sides have ended their direction.
//
// Threads: every function may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace berth::net {

class IoPool;

struct RelayTarget {
  std::string address;  // an address of IPv4 or IPv6
  std::uint16_t port = 0;
  friend bool operator==(const RelayTarget&, const RelayTarget&) = default;
};

class TcpRelay {
 public:
  // Connections that are open at once; further ones wait in the listener's backlog.
  static constexpr int kMostConnections = 1024;

  // Errors: kUnavailable with the address if it cannot be bound; kInvalid if it is no IP address.
  static Result<std::unique_ptr<TcpRelay>> Listen(IoPool& pool, const std::string& address,
                                                  std::uint16_t port);
  ~TcpRelay();  // stops listening
  TcpRelay(const TcpRelay&) = delete;
  TcpRelay& operator=(const TcpRelay&) = delete;

  // Sets the targets of new connections. Targets that are no IP address are left out.
  void SetTargets(std::vector<RelayTarget> targets);
  std::uint16_t port() const;

 private:
  class Impl;
  explicit TcpRelay(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth::net

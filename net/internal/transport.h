// net/internal/transport.h — one connection's bytes, plain or TLS, without showing Asio or OpenSSL.
//
//     ServerSession, ClientConnection ──Read, Write──▶ Transport ──OnRead, OnWritten──▶ the same
//
// Threads: everything on the connection's strand. At most one Read and one Write are under way.
// Each operation keeps its owner, and with it the transport, alive until its event has come; after
// Abort no event comes any more.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/internal/strand.h"

namespace berth::net {

struct TlsContext;  // net/internal/tls.h

struct IoOutcome {
  enum class Kind { kOk, kEnd, kFailed };  // kEnd: the peer has properly ended its side
  Kind kind = Kind::kOk;
  std::string reason;  // kFailed: for people

  bool ok() const { return kind == Kind::kOk; }
};

class TransportEvents {
 public:
  virtual ~TransportEvents() = default;
  virtual void OnReady(const IoOutcome& outcome) = 0;  // of Accept or Connect
  virtual void OnRead(const IoOutcome& outcome, std::size_t byte_count) = 0;
  virtual void OnWritten(const IoOutcome& outcome, std::size_t byte_count) = 0;
  virtual void OnFinished() = 0;  // of Finish
};

struct PeerCertificate {
  std::string common_name;
  std::vector<std::string> organizations;
};

// An HTTP proxy that makes a tunnel to the target.
struct ProxyTarget {
  std::string host;  // as ConnectTarget's
  std::uint16_t port = 0;
  std::string authorization;  // of Proxy-Authorization; empty: none
};

struct ConnectTarget {
  std::string host;  // a name or an address, IPv6 without brackets
  std::uint16_t port = 0;
  std::shared_ptr<TlsContext> tls;  // null: plain
  std::string server_name;          // for SNI and the certificate check
  std::optional<ProxyTarget> proxy = std::nullopt;
};

class Transport {
 public:
  using Owner = std::shared_ptr<TransportEvents>;

  virtual ~Transport() = default;

  // Servers: the TLS handshake, nothing where the connection is plain.
  virtual void Accept(Owner owner) = 0;
  // Clients: resolve, connect (each address in turn), ask the proxy if any, TLS handshake.
  virtual void Connect(ConnectTarget target, Owner owner) = 0;
  // What Connect is doing, for the message of a timeout: "resolving the name", ….
  virtual std::string_view stage() const = 0;

  // Some bytes, at least one. The memory must stay until the event.
  virtual void Read(char* data, std::size_t size, Owner owner) = 0;
  virtual void Write(std::string_view bytes, Owner owner) = 0;

  // Ends politely: close_notify, FIN, then reads and drops what the peer still sends, for two
  // seconds at most, so that it gets our last bytes and no reset. Nothing else may be called
  // after it but Abort.
  virtual void Finish(Owner owner) = 0;
  // Closes at once. Idempotent.
  virtual void Abort() = 0;

  // False: the peer has ended or sent something unasked, so a kept connection must not be used.
  virtual bool IsQuiet() = 0;

  virtual std::string peer_address() const = 0;                         // "127.0.0.1:40312"
  virtual std::optional<PeerCertificate> peer_certificate() const = 0;  // verified ones only
};

// A client's; not connected yet.
std::unique_ptr<Transport> MakeTransport(const Strand& strand);

}  // namespace berth::net

// net/internal/byte_stream.h — the bytes of one connection, plain or TLS, hiding Asio and OpenSSL.
//
//     ServerSession, ClientConnection ──Read, Write──▶ Transport ──OnRead, OnWritten──▶ its owner
//
// Threads: the connection's strand. At most one Read and one Write are under way. Each operation
// keeps its owner, and thereby the transport, alive until its event; after Abort no event
// follows.
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
  enum class Kind { kOk, kEnd, kFailed };  // kEnd: the peer has ended its side regularly
  Kind kind = Kind::kOk;
  std::string reason;  // kFailed: for people

  bool ok() const { return kind == Kind::kOk; }
};

class TransportEvents {
 public:
  virtual ~TransportEvents() = default;
  virtual void OnReady(const IoOutcome& outcome) = 0;  // ends Accept or Connect
  virtual void OnRead(const IoOutcome& outcome, std::size_t byte_count) = 0;
  virtual void OnWritten(const IoOutcome& outcome, std::size_t byte_count) = 0;
  virtual void OnFinished() = 0;  // ends Finish
};

struct PeerCertificate {
  std::string common_name;
  std::vector<std::string> organizations;
};

// An HTTP proxy that opens a tunnel to the target.
struct ProxyTarget {
  std::string host;  // the same form as ConnectTarget::host
  std::uint16_t port = 0;
  std::string authorization;  // value of Proxy-Authorization; empty: none
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

  // Servers: does the TLS handshake; plain connections are ready at once.
  virtual void Accept(Owner owner) = 0;
  // Clients: resolve, connect (each address in turn), ask the proxy if any, TLS handshake.
  virtual void Connect(ConnectTarget target, Owner owner) = 0;
  // The running step of Connect, for the message of a timeout: "resolving the name", ….
  virtual std::string_view stage() const = 0;

  // Reads at least one byte. The memory must be valid until the event.
  virtual void Read(char* data, std::size_t size, Owner owner) = 0;
  virtual void Write(std::string_view bytes, Owner owner) = 0;

  // Closes gracefully: sends close_notify and FIN, then reads and drops the peer's bytes, for two
  // seconds at most, so that the peer gets the last bytes and no reset. Afterwards only Abort may
  // be called.
  virtual void Finish(Owner owner) = 0;
  // Closes at once. Idempotent.
  virtual void Abort() = 0;

  // Returns false where the peer has ended or sent unrequested bytes: do not reuse the connection.
  virtual bool IsQuiet() = 0;

  virtual std::string peer_address() const = 0;  // "127.0.0.1:40312"
  virtual std::optional<PeerCertificate> peer_certificate()
      const = 0;  // nullopt: none was verified
};

// Makes a client's transport, which is not connected yet.
std::unique_ptr<Transport> MakeTransport(const Strand& strand);

}  // namespace berth::net

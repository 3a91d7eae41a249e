// tests/net/raw_peer.h — the other end of a connection, byte by byte, on blocking sockets: sends
// bytes that no well-behaved HTTP library sends.
//
// Threads: one. Reads give up after ten seconds, so a test that waits in vain fails and ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/server.h"

typedef struct ssl_st SSL;          // NOLINT: OpenSSL's own names
typedef struct ssl_ctx_st SSL_CTX;  // NOLINT

namespace berth::net {

struct RawTlsOptions {
  std::string ca_pem;                     // empty: the peer's certificate is not looked at
  const TlsIdentity* identity = nullptr;  // a server must have one
  std::string alpn;                       // wire format: "\x02h2\x08http/1.1"; empty: none offered
  std::shared_ptr<SSL_CTX> context;       // the context of an earlier peer, to resume its sessions
};

class RawPeer {
 public:
  // Connects to 127.0.0.1 from `source`, an address of the loopback; aborts the test program where
  // that fails.
  static RawPeer Connect(std::uint16_t port, const char* source = "127.0.0.1");
  explicit RawPeer(int socket) : socket_(socket) {}
  ~RawPeer();
  RawPeer(RawPeer&& other) noexcept;
  RawPeer& operator=(RawPeer&&) = delete;

  // The handshake; false where it fails.
  bool StartTlsAsClient(const RawTlsOptions& options);
  bool StartTlsAsServer(const RawTlsOptions& options);
  std::string chosen_alpn() const;
  bool was_resumed() const;  // the TLS session
  std::shared_ptr<SSL_CTX> context() const { return context_; }

  // False: the peer does not accept more bytes.
  bool Send(std::string_view bytes);
  void ShutdownSend();
  void Reset();  // closes with RST

  // Reads until `marker` is in the bytes read since the last call, or the peer has ended; returns
  // all of them. Bytes behind the marker are kept for the next call.
  std::string ReadUntil(std::string_view marker);
  // Header and body by Content-Length or chunks (as on the wire).
  std::string ReadResponse();
  std::string ReadToEnd();
  // Whether the peer ends or resets the connection without sending more.
  bool IsEnded();

  int socket() const { return socket_; }

 private:
  bool Fill();  // false: end, reset or time-out
  bool StartTls(const RawTlsOptions& options, bool (*handshake)(SSL*));

  int socket_;
  std::shared_ptr<SSL_CTX> context_;
  std::shared_ptr<SSL> tls_;
  std::string received_;
};

// Accepts on 127.0.0.1, one connection at a time.
class RawListener {
 public:
  RawListener();
  ~RawListener();
  RawListener(const RawListener&) = delete;
  RawListener& operator=(const RawListener&) = delete;

  std::uint16_t port() const { return port_; }
  RawPeer Accept();

 private:
  int socket_;
  std::uint16_t port_;
};

}  // namespace berth::net

#include "net/internal/byte_stream.h"

#include <cerrno>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include "net/internal/asio.h"
#include "net/internal/asio_transport.h"
#include "net/internal/openssl.h"
#include "net/internal/tls.h"

namespace berth::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kLinger = std::chrono::seconds(2);
// A client that sends a body over the limit reads the refusal only after sending it all.
constexpr std::size_t kLingerBytes = 16 * 1024 * 1024;
// An address that drops packets must not use up the time of a name with several addresses.
constexpr auto kConnectAttempt = std::chrono::seconds(5);
constexpr std::size_t kProxyAnswerBytes = 16 * 1024;
constexpr std::string_view kPlainHttpOnTls =
    "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    "this port speaks TLS: use https://\n";

IoOutcome ToOutcome(const error_code& error) {
  if (!error) return {};
  if (error == asio::error::eof) return {IoOutcome::Kind::kEnd, "the peer has closed"};
  if (error == asio::ssl::error::stream_truncated) {
    return {IoOutcome::Kind::kFailed, "the connection was cut without TLS close_notify"};
  }
  return {IoOutcome::Kind::kFailed, error.message()};
}

// Keepalive finds peers that vanished without closing, which a quiet watch would never notice.
void SetOptions(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const auto set = [&](int option, int value) {
    setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof(value));
  };
  set(TCP_KEEPIDLE, 30);
  set(TCP_KEEPINTVL, 10);
  set(TCP_KEEPCNT, 3);
}

class AsioTransport final : public Transport {
 public:
  AsioTransport(tcp::socket socket, const TlsContext* tls)
      : socket_(std::move(socket)),
        resolver_(socket_.get_executor()),
        timer_(socket_.get_executor()) {
    if (socket_.is_open()) {
      error_code error;
      const tcp::endpoint peer = socket_.remote_endpoint(error);
      if (!error) peer_address_ = EndpointText(peer);
      SetOptions(socket_);
    }
    if (tls) UseTls(*tls);
  }

  void Accept(Owner owner) override {
    if (!tls_) {
      asio::post(socket_.get_executor(), [this, owner = std::move(owner)] {
        if (!closed_) owner->OnReady({});
      });
      return;
    }
    tls_->async_handshake(
        asio::ssl::stream_base::server, [this, owner = std::move(owner)](const error_code& error) {
          if (closed_) return;
          if (error.category() == asio::error::get_ssl_category() &&
              ERR_GET_REASON(static_cast<unsigned>(error.value())) == SSL_R_HTTP_REQUEST) {
            RefusePlainHttp(owner);
            return;
          }
          owner->OnReady(ToOutcome(error));
        });
  }

  void Connect(ConnectTarget target, Owner owner) override {
    target_ = std::move(target);
    const std::string& host = target_.proxy ? target_.proxy->host : target_.host;
    const std::uint16_t port = target_.proxy ? target_.proxy->port : target_.port;
    error_code not_literal;
    const auto address = asio::ip::make_address(host, not_literal);
    if (!not_literal) {
      endpoints_ = {tcp::endpoint(address, port)};
      asio::post(socket_.get_executor(), [this, owner = std::move(owner)] {
        if (!closed_) ConnectNext(owner, asio::error::host_not_found);
      });
      return;
    }
    stage_ = "resolving the name";
    resolver_.async_resolve(
        host, std::to_string(port), tcp::resolver::numeric_service,
        [this, owner = std::move(owner)](const error_code& error, const auto& found) {
          if (closed_) return;
          for (const auto& entry : found) endpoints_.push_back(entry.endpoint());
          ConnectNext(owner, error ? error : error_code(asio::error::host_not_found));
        });
  }

  std::string_view stage() const override { return stage_; }

  void Read(char* data, std::size_t size, Owner owner) override {
    const auto buffer = asio::buffer(data, size);
    auto done = [this, owner = std::move(owner)](const error_code& error, std::size_t count) {
      if (!closed_ && !finishing_) owner->OnRead(ToOutcome(error), count);
    };
    if (tls_) {
      tls_->async_read_some(buffer, std::move(done));
    } else {
      socket_.async_read_some(buffer, std::move(done));
    }
  }

  void Write(std::string_view bytes, Owner owner) override {
    const auto buffer = asio::buffer(bytes.data(), bytes.size());
    auto done = [this, owner = std::move(owner)](const error_code& error, std::size_t count) {
      if (!closed_ && !finishing_) owner->OnWritten(ToOutcome(error), count);
    };
    if (tls_) {
      tls_->async_write_some(buffer, std::move(done));
    } else {
      socket_.async_write_some(buffer, std::move(done));
    }
  }

  void Finish(Owner owner) override {
    if (finishing_ || closed_) return;
    finishing_ = true;
    timer_.expires_after(kLinger);
    timer_.async_wait([this, owner](const error_code& error) {
      if (!error) EndFinish(owner);
    });
    if (!tls_) {
      FinishSocket(std::move(owner));
      return;
    }
    tls_->async_shutdown([this, owner = std::move(owner)](const error_code&) {
      if (!closed_) FinishSocket(owner);
    });
  }

  void Abort() override {
    if (closed_) return;
    closed_ = true;
    // Else SSL_free treats the session as broken, and it cannot be resumed.
    if (tls_) SSL_set_shutdown(tls_->native_handle(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    timer_.cancel();
    resolver_.cancel();
    error_code ignored;
    socket_.close(ignored);
  }

  bool IsQuiet() override {
    if (closed_ || !socket_.is_open()) return false;
    char byte = 0;
    if (tls_) {  // received bytes, maybe close_notify
      ERR_clear_error();
      const int count = SSL_peek(tls_->native_handle(), &byte, 1);
      const int error = SSL_get_error(tls_->native_handle(), count);
      ERR_clear_error();
      if (count > 0 || error != SSL_ERROR_WANT_READ) return false;
    }
    const auto count = recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }

  std::string peer_address() const override { return peer_address_; }

  std::optional<PeerCertificate> peer_certificate() const override {
    if (!tls_) return std::nullopt;
    auto* ssl = const_cast<TlsStream&>(*tls_).native_handle();
    const X509* certificate = SSL_get0_peer_certificate(ssl);
    if (certificate == nullptr || SSL_get_verify_result(ssl) != X509_V_OK) return std::nullopt;
    return PeerCertificate{CommonName(*certificate), Organizations(*certificate)};
  }

 private:
  using TlsStream = asio::ssl::stream<tcp::socket&>;

  void UseTls(const TlsContext& tls) {
    SSL_CTX_up_ref(tls.handle());
    asio::ssl::context context(tls.handle());  // owns this reference; the stream has its own
    tls_.emplace(socket_, context);
  }

  // Tries each address in turn; `last` is the error of the previous one.
  void ConnectNext(const Owner& owner, const error_code& last) {
    if (next_endpoint_ == endpoints_.size()) {
      owner->OnReady({IoOutcome::Kind::kFailed,
                      endpoints_.empty()
                          ? "resolving " + (target_.proxy ? target_.proxy->host : target_.host) +
                                ": " + last.message()
                          : "connecting to " + peer_address_ + ": " + last.message()});
      return;
    }
    stage_ = "connecting";
    const tcp::endpoint endpoint = endpoints_[next_endpoint_++];
    peer_address_ = EndpointText(endpoint);
    error_code ignored;
    socket_.close(ignored);
    if (next_endpoint_ < endpoints_.size()) {
      timer_.expires_after(kConnectAttempt);
      timer_.async_wait([this, owner](const error_code& error) {
        error_code none;
        if (!error && !closed_ && stage_ == "connecting") socket_.cancel(none);
      });
    }
    socket_.async_connect(endpoint, [this, owner](const error_code& error) {
      if (closed_) return;
      timer_.cancel();
      if (error) {
        ConnectNext(owner, error);
        return;
      }
      SetOptions(socket_);
      if (target_.proxy) return AskProxy(owner);
      HandshakeAsClient(owner);
    });
  }

  void AskProxy(const Owner& owner) {
    stage_ = "waiting for the proxy";
    const std::string host =
        target_.host.find(':') == std::string::npos ? target_.host : "[" + target_.host + "]";
    const std::string authority = host + ":" + std::to_string(target_.port);
    proxy_text_ = "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n";
    if (!target_.proxy->authorization.empty()) {
      proxy_text_ += "Proxy-Authorization: " + target_.proxy->authorization + "\r\n";
    }
    proxy_text_ += "\r\n";
    asio::async_write(socket_, asio::buffer(proxy_text_),
                      [this, owner](const error_code& error, std::size_t) {
                        if (closed_) return;
                        if (error) return FailAtProxy(owner, error.message());
                        proxy_text_.clear();
                        ReadProxyAnswer(owner);
                      });
  }

  // No byte of the tunnel can follow the head: in the tunnel the client speaks first.
  void ReadProxyAnswer(const Owner& owner) {
    dropped_.resize(kProxyAnswerBytes);
    socket_.async_read_some(
        asio::buffer(dropped_), [this, owner](const error_code& error, std::size_t count) {
          if (closed_) return;
          if (error) return FailAtProxy(owner, error.message());
          proxy_text_.append(dropped_.data(), count);
          const std::size_t end = proxy_text_.find("\r\n\r\n");
          if (end == std::string::npos && proxy_text_.size() < kProxyAnswerBytes) {
            return ReadProxyAnswer(owner);
          }
          const std::string line = proxy_text_.substr(0, proxy_text_.find("\r\n"));
          const bool is_http = line.starts_with("HTTP/1.") && line.size() >= 12;
          if (end == std::string::npos || !is_http) {
            return FailAtProxy(owner, "the answer to CONNECT is no HTTP/1.1");
          }
          if (line.substr(8, 4) != " 200") {
            return FailAtProxy(owner, "it answered CONNECT with \"" + line.substr(0, 100) + "\"");
          }
          if (end + 4 != proxy_text_.size()) {
            return FailAtProxy(owner, "it sent more than the answer to CONNECT");
          }
          HandshakeAsClient(owner);
        });
  }

  void FailAtProxy(const Owner& owner, const std::string& reason) {
    owner->OnReady({IoOutcome::Kind::kFailed, "proxy " + peer_address_ + ": " + reason});
  }

  void HandshakeAsClient(const Owner& owner) {
    if (!target_.tls) {
      stage_ = "connected";
      owner->OnReady({});
      return;
    }
    stage_ = "in the TLS handshake";
    UseTls(*target_.tls);
    if (auto ready = target_.tls->PrepareClient(tls_->native_handle(), target_.server_name);
        !ready) {
      owner->OnReady({IoOutcome::Kind::kFailed, ready.error().message});
      return;
    }
    tls_->async_handshake(asio::ssl::stream_base::client, [this, owner](const error_code& error) {
      if (closed_) return;
      if (!error) {
        stage_ = "connected";
        owner->OnReady({});
        return;
      }
      std::string reason = ToOutcome(error).reason;
      const auto verified = SSL_get_verify_result(tls_->native_handle());
      if (verified != X509_V_OK) {
        reason += std::string(" (") + X509_verify_cert_error_string(verified) + ")";
      }
      owner->OnReady(
          {IoOutcome::Kind::kFailed, "TLS handshake with " + peer_address_ + ": " + reason});
    });
  }

  void RefusePlainHttp(const Owner& owner) {
    asio::async_write(socket_, asio::buffer(kPlainHttpOnTls.data(), kPlainHttpOnTls.size()),
                      [this, owner](const error_code&, std::size_t) {
                        if (closed_) return;
                        owner->OnReady({IoOutcome::Kind::kFailed, "plain HTTP instead of TLS"});
                      });
  }

  void FinishSocket(Owner owner) {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    dropped_.resize(16 * 1024);
    DropInput(std::move(owner));
  }

  void DropInput(Owner owner) {
    socket_.async_read_some(
        asio::buffer(dropped_),
        [this, owner = std::move(owner)](const error_code& error, std::size_t count) {
          if (closed_) return;
          dropped_bytes_ += count;
          if (error || dropped_bytes_ > kLingerBytes) {
            EndFinish(owner);
          } else {
            DropInput(owner);
          }
        });
  }

  void EndFinish(const Owner& owner) {
    if (closed_) return;
    Abort();
    owner->OnFinished();
  }

  tcp::socket socket_;
  std::optional<TlsStream> tls_;  // declared after the socket it refers to
  tcp::resolver resolver_;
  asio::steady_timer timer_;  // ends one connect attempt, and Finish
  ConnectTarget target_;
  std::vector<tcp::endpoint> endpoints_;
  std::size_t next_endpoint_ = 0;
  std::string peer_address_;
  std::string_view stage_ = "connecting";
  bool closed_ = false;
  bool finishing_ = false;
  std::string proxy_text_;  // the CONNECT request, then its answer
  std::vector<char> dropped_;
  std::size_t dropped_bytes_ = 0;
};

}  // namespace

std::string EndpointText(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  const std::string port = std::to_string(endpoint.port());
  return endpoint.address().is_v6() ? "[" + address + "]:" + port : address + ":" + port;
}

std::unique_ptr<Transport> MakeTransport(tcp::socket socket,
                                         const std::shared_ptr<TlsContext>& tls) {
  return std::make_unique<AsioTransport>(std::move(socket), tls.get());
}

std::unique_ptr<Transport> MakeTransport(const Strand& strand) {
  return std::make_unique<AsioTransport>(tcp::socket(strand.impl().executor), nullptr);
}

}  // namespace berth::net

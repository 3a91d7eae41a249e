#include "net/internal/listener.h"

#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/internal/asio.h"
#include "net/internal/asio_transport.h"

namespace berth::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr int kBacklog = 1024;
// Accept failed, for example for lack of file descriptors: waits for connections to close.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

// A host of IPv6 has a /64 of addresses to choose from.
std::string PeerOf(const tcp::socket& socket) {
  error_code error;
  const tcp::endpoint endpoint = socket.remote_endpoint(error);
  if (error) return "";
  const asio::ip::address& address = endpoint.address();
  if (address.is_v4()) {
    const auto bytes = address.to_v4().to_bytes();
    return {bytes.begin(), bytes.end()};
  }
  const auto bytes = address.to_v6().to_bytes();
  constexpr std::ptrdiff_t kV4Start = 12;  // where a mapped IPv4 address begins
  if (address.to_v6().is_v4_mapped()) return {bytes.begin() + kV4Start, bytes.end()};
  constexpr std::ptrdiff_t kHalf = 8;
  return {bytes.begin(), bytes.begin() + kHalf};
}

class AsioListener final : public Listener, public std::enable_shared_from_this<AsioListener> {
 public:
  explicit AsioListener(IoPool& pool)
      : pool_(pool),
        strand_(pool),
        acceptor_(strand_.impl().executor),
        pause_(strand_.impl().executor) {}

  Status Listen(const tcp::endpoint& endpoint) {
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error && endpoint.protocol() == tcp::v6()) {
      error_code ignored;  // "::" includes IPv4 where the machine allows it
      acceptor_.set_option(asio::ip::v6_only(false), ignored);
    }
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(kBacklog, error);
    if (error) {
      return Error{ErrorCode::kUnavailable,
                   "cannot listen on " + EndpointText(endpoint) + ": " + error.message()};
    }
    const tcp::endpoint bound = acceptor_.local_endpoint(error);
    port_ = bound.port();
    address_ = bound.address().to_string();
    return OkStatus();
  }

  void Open(Callbacks callbacks) override {
    strand_.Post([self = shared_from_this(), callbacks = std::move(callbacks)]() mutable {
      self->callbacks_ = std::move(callbacks);
      self->is_open_ = true;
      self->AcceptNext();
    });
  }

  void Close() override {
    strand_.Post([self = shared_from_this()] {
      error_code ignored;
      self->acceptor_.close(ignored);
      self->pause_.cancel();
      if (!std::exchange(self->is_open_, false)) return;
      const Callbacks callbacks = std::exchange(self->callbacks_, {});
      callbacks.on_closed();
    });
  }

  std::uint16_t port() const override { return port_; }
  std::string address() const override { return address_; }

 private:
  void AcceptNext() {
    const Strand strand(pool_);
    acceptor_.async_accept(
        strand.impl().executor,
        [self = shared_from_this(), strand](const error_code& error, tcp::socket socket) {
          self->OnAccepted(error, strand, std::move(socket));
        });
  }

  void OnAccepted(const error_code& error, const Strand& strand, tcp::socket socket) {
    if (!is_open_) return;
    if (error) {
      pause_.expires_after(kAcceptPause);
      pause_.async_wait([self = shared_from_this()](const error_code&) {
        if (self->is_open_) self->AcceptNext();
      });
      return;
    }
    std::string peer = PeerOf(socket);
    callbacks_.on_connection(strand, MakeTransport(std::move(socket), callbacks_.tls()),
                             std::move(peer));
    AcceptNext();
  }

  IoPool& pool_;
  const Strand strand_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::uint16_t port_ = 0;
  std::string address_;
  Callbacks callbacks_;
  bool is_open_ = false;
};

}  // namespace

Result<std::shared_ptr<Listener>> Listener::Bind(IoPool& pool, const std::string& address,
                                                 std::uint16_t port) {
  error_code error;
  const auto ip = asio::ip::make_address(address, error);
  if (error) {
    return Error{ErrorCode::kInvalid, "cannot listen on \"" + address +
                                          "\": not an IP address such as 127.0.0.1 or ::1"};
  }
  auto listener = std::make_shared<AsioListener>(pool);
  BERTH_CHECK_OK(listener->Listen(tcp::endpoint(ip, port)));
  return std::shared_ptr<Listener>(std::move(listener));
}

}  // namespace berth::net

#include "net/tcp_relay.h"

#include <array>
#include <mutex>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "net/internal/asio.h"

namespace berth::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr int kRelayBacklog = 1024;
constexpr std::size_t kRelayBufferBytes = std::size_t{32} * 1024;
constexpr auto kRelayPause = std::chrono::milliseconds(100);  // after a failed accept

// One connection and its other half. Used on its strand only.
class RelayedConnection : public std::enable_shared_from_this<RelayedConnection> {
 public:
  RelayedConnection(tcp::socket client, std::vector<tcp::endpoint> targets,
                    std::shared_ptr<void> place)
      : client_(std::move(client)),
        target_(client_.get_executor()),
        targets_(std::move(targets)),
        place_(std::move(place)) {}

  void Connect(std::size_t at) {
    if (at == targets_.size()) return Close();
    target_.async_connect(targets_[at], [self = shared_from_this(), at](const error_code& error) {
      if (error) {
        error_code ignored;
        self->target_.close(ignored);
        return self->Connect(at + 1);
      }
      self->Start();
    });
  }

 private:
  struct Way {
    tcp::socket& from;
    tcp::socket& to;
    std::array<char, kRelayBufferBytes> buffer{};
    bool has_ended = false;
  };

  void Start() {
    error_code ignored;
    client_.set_option(tcp::no_delay(true), ignored);
    target_.set_option(tcp::no_delay(true), ignored);
    Read(there_);
    Read(back_);
  }

  void Read(Way& way) {
    way.from.async_read_some(
        asio::buffer(way.buffer),
        [self = shared_from_this(), &way](const error_code& error, std::size_t count) {
          if (error) return self->End(way, error);
          self->Write(way, count);
        });
  }

  void Write(Way& way, std::size_t count) {
    asio::async_write(way.to, asio::buffer(way.buffer.data(), count),
                      [self = shared_from_this(), &way](const error_code& error, std::size_t) {
                        if (error) return self->Close();
                        self->Read(way);
                      });
  }

  // The other direction goes on after a regular end.
  void End(Way& way, const error_code& why) {
    way.has_ended = true;
    if (why != asio::error::eof || (there_.has_ended && back_.has_ended)) return Close();
    error_code ignored;
    way.to.shutdown(tcp::socket::shutdown_send, ignored);
  }

  void Close() {
    error_code ignored;
    client_.close(ignored);
    target_.close(ignored);
  }

  tcp::socket client_;
  tcp::socket target_;
  const std::vector<tcp::endpoint> targets_;
  const std::shared_ptr<void> place_;  // among the relay's connections
  Way there_{client_, target_};
  Way back_{target_, client_};
};

}  // namespace

class TcpRelay::Impl : public std::enable_shared_from_this<Impl> {
 public:
  explicit Impl(IoPool& pool)
      : pool_(pool),
        strand_(pool),
        acceptor_(strand_.impl().executor),
        pause_(strand_.impl().executor) {}

  Status Listen(const tcp::endpoint& endpoint) {
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(kRelayBacklog, error);
    if (error) {
      return Error{ErrorCode::kUnavailable, "cannot listen on " + endpoint.address().to_string() +
                                                ":" + std::to_string(endpoint.port()) + ": " +
                                                error.message()};
    }
    port_ = acceptor_.local_endpoint(error).port();
    return OkStatus();
  }

  void Open() {
    strand_.Post([self = shared_from_this()] { self->Accept(); });
  }

  void Close() {
    strand_.Post([self = shared_from_this()] {
      error_code ignored;
      self->is_closed_ = true;
      self->acceptor_.close(ignored);
      self->pause_.cancel();
    });
  }

  void SetTargets(const std::vector<RelayTarget>& targets) {
    std::vector<tcp::endpoint> endpoints;
    for (const RelayTarget& target : targets) {
      error_code error;
      const auto address = asio::ip::make_address(target.address, error);
      if (!error) endpoints.emplace_back(address, target.port);
    }
    const std::lock_guard lock(mutex_);
    targets_ = std::move(endpoints);
  }

  std::uint16_t port() const { return port_; }

 private:
  // All targets, beginning with the one whose turn it is.
  std::vector<tcp::endpoint> NextTargets() {
    const std::lock_guard lock(mutex_);
    std::vector<tcp::endpoint> targets;
    for (std::size_t step = 0; step < targets_.size(); ++step) {
      targets.push_back(targets_[(turn_ + step) % targets_.size()]);
    }
    ++turn_;
    return targets;
  }

  void Accept() {
    if (is_closed_) return;
    if (open_.use_count() > kMostConnections) return Pause();
    const Strand strand(pool_);
    acceptor_.async_accept(strand.impl().executor, [self = shared_from_this()](
                                                       const error_code& error,
                                                       tcp::socket socket) {
      self->strand_.Post([self, error, held = std::make_shared<tcp::socket>(std::move(socket))] {
        self->OnAccepted(error, std::move(*held));
      });
    });
  }

  void OnAccepted(const error_code& error, tcp::socket socket) {
    if (is_closed_) return;
    if (error) return Pause();
    const auto executor = socket.get_executor();
    const auto connection =
        std::make_shared<RelayedConnection>(std::move(socket), NextTargets(), open_);
    asio::post(executor, [connection] { connection->Connect(0); });
    Accept();
  }

  // Without file descriptors, or with all connections in use: waits for some to close.
  void Pause() {
    pause_.expires_after(kRelayPause);
    pause_.async_wait([self = shared_from_this()](const error_code&) { self->Accept(); });
  }

  IoPool& pool_;
  const Strand strand_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::uint16_t port_ = 0;
  bool is_closed_ = false;
  std::mutex mutex_;
  std::vector<tcp::endpoint> targets_;
  std::size_t turn_ = 0;
  const std::shared_ptr<void> open_ = std::make_shared<int>(0);  // one owner for each connection
};

Result<std::unique_ptr<TcpRelay>> TcpRelay::Listen(IoPool& pool, const std::string& address,
                                                   std::uint16_t port) {
  error_code error;
  const auto ip = asio::ip::make_address(address, error);
  if (error) {
    return Error{ErrorCode::kInvalid, "cannot listen on \"" + address + "\": not an IP address"};
  }
  auto impl = std::make_shared<Impl>(pool);
  BERTH_CHECK_OK(impl->Listen(tcp::endpoint(ip, port)));
  impl->Open();
  return std::unique_ptr<TcpRelay>(new TcpRelay(std::move(impl)));
}

TcpRelay::TcpRelay(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
TcpRelay::~TcpRelay() { impl_->Close(); }
void TcpRelay::SetTargets(std::vector<RelayTarget> targets) { impl_->SetTargets(targets); }
std::uint16_t TcpRelay::port() const { return impl_->port(); }

}  // namespace berth::net

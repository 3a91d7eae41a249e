#include "net/tcp_stream.h"

#include <array>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "net/internal/asio.h"

namespace berth::net {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kTcpPieceBytes = std::size_t{32} * 1024;

// Used on its strand only.
class TcpConnection : public std::enable_shared_from_this<TcpConnection> {
 public:
  explicit TcpConnection(IoPool& pool)
      : strand_(pool), socket_(strand_.impl().executor), timer_(strand_.impl().executor) {}

  const Strand& strand() const { return strand_; }

  void Connect(const tcp::endpoint& endpoint, Duration timeout,
               std::function<void(Status)> connected) {
    const auto done = std::make_shared<std::function<void(Status)>>(std::move(connected));
    const auto end = [self = shared_from_this(), done](Status status) {
      self->timer_.cancel();
      if (const auto once = std::exchange(*done, nullptr)) once(std::move(status));
    };
    timer_.expires_after(timeout);
    timer_.async_wait([self = shared_from_this(), end](const error_code& error) {
      if (error) return;
      self->Close();
      end(Error{ErrorCode::kDeadlineExceeded, "connection timed out"});
    });
    socket_.async_connect(endpoint, [self = shared_from_this(), end](const error_code& error) {
      if (error) return end(Error{ErrorCode::kUnavailable, error.message()});
      error_code ignored;
      self->socket_.set_option(tcp::no_delay(true), ignored);
      end(OkStatus());
    });
  }

  void Read(std::function<void(std::optional<std::string>)> on_bytes) {
    socket_.async_read_some(boost::asio::buffer(piece_),
                            [self = shared_from_this(), on_bytes = std::move(on_bytes)](
                                const error_code& error, std::size_t count) {
                              if (error) return on_bytes(std::nullopt);
                              on_bytes(std::string(self->piece_.data(), count));
                            });
  }

  void Write(std::string bytes, std::function<void(bool)> written) {
    const auto kept = std::make_shared<std::string>(std::move(bytes));
    boost::asio::async_write(socket_, boost::asio::buffer(*kept),
                             [self = shared_from_this(), kept, written = std::move(written)](
                                 const error_code& error, std::size_t) { written(!error); });
  }

  void EndWrites() {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
  }

  void Close() {
    error_code ignored;
    socket_.close(ignored);
  }

 private:
  const Strand strand_;
  tcp::socket socket_;
  boost::asio::steady_timer timer_;
  std::array<char, kTcpPieceBytes> piece_{};
};

class TcpHandle final : public TcpStream {
 public:
  explicit TcpHandle(std::shared_ptr<TcpConnection> connection)
      : connection_(std::move(connection)) {}
  ~TcpHandle() override { Close(); }
  void Read(std::function<void(std::optional<std::string>)> on_bytes) override {
    connection_->strand().Post(
        [connection = connection_, on_bytes = std::move(on_bytes)]() mutable {
          connection->Read(std::move(on_bytes));
        });
  }
  void Write(std::string bytes, std::function<void(bool)> written) override {
    connection_->strand().Post([connection = connection_, bytes = std::move(bytes),
                                written = std::move(written)]() mutable {
      connection->Write(std::move(bytes), std::move(written));
    });
  }
  void EndWrites() override {
    connection_->strand().Post([connection = connection_] { connection->EndWrites(); });
  }
  void Close() override {
    connection_->strand().Post([connection = connection_] { connection->Close(); });
  }

 private:
  const std::shared_ptr<TcpConnection> connection_;
};

}  // namespace

void TcpStream::Connect(IoPool& pool, const std::string& address, std::uint16_t port,
                        Duration timeout, OnConnected connected) {
  const auto connection = std::make_shared<TcpConnection>(pool);
  error_code wrong;
  const auto ip = boost::asio::ip::make_address(address, wrong);
  connection->strand().Post([connection, wrong, endpoint = tcp::endpoint(ip, port), timeout,
                             connected = std::move(connected)] {
    if (wrong) return connected(Error{ErrorCode::kInvalid, "not an IP address"});
    connection->Connect(endpoint, timeout, [connection, connected](const Status& status) {
      if (!status) return connected(status.error());
      connected(std::shared_ptr<TcpStream>(std::make_shared<TcpHandle>(connection)));
    });
  });
}

}  // namespace berth::net

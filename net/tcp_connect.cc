#include "net/tcp_connect.h"

#include <memory>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/internal/asio.h"

namespace berth::net {
namespace {

// Used on its strand only.
struct ConnectTry {
  explicit ConnectTry(IoPool& pool)
      : strand(pool), socket(strand.impl().executor), timer(strand.impl().executor) {}

  void End(Status status) {
    if (!done) return;
    boost::system::error_code ignored;
    socket.close(ignored);
    timer.cancel();
    std::exchange(done, nullptr)(std::move(status));
  }

  const Strand strand;
  boost::asio::ip::tcp::socket socket;
  boost::asio::steady_timer timer;
  std::function<void(Status)> done;
};

}  // namespace

void TryConnect(IoPool& pool, const std::string& address, std::uint16_t port, Duration timeout,
                std::function<void(Status)> done) {
  const auto attempt = std::make_shared<ConnectTry>(pool);
  attempt->done = std::move(done);
  boost::system::error_code wrong;
  const auto ip = boost::asio::ip::make_address(address, wrong);
  attempt->strand.Post([attempt, wrong, ip, address, port, timeout] {
    const std::string where = address + ":" + std::to_string(port);
    if (wrong) return attempt->End(Error{ErrorCode::kInvalid, where + ": not an IP address"});
    attempt->timer.expires_after(timeout);
    attempt->timer.async_wait([attempt, where](const boost::system::error_code& error) {
      if (!error) attempt->End(Error{ErrorCode::kDeadlineExceeded, where + ": i/o timeout"});
    });
    attempt->socket.async_connect({ip, port}, [attempt,
                                               where](const boost::system::error_code& error) {
      if (!error) return attempt->End(OkStatus());
      attempt->End(Error{ErrorCode::kUnavailable, "dial tcp " + where + ": " + error.message()});
    });
  });
}

}  // namespace berth::net

// Goal: connections reach one of several targets, in turn, whole in both directions.
// Method: plain sockets of the test as clients and targets, on free ports of loopback.
#include "net/tcp_relay.h"

#include <array>
#include <future>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/io_pool.h"
#include "net/tcp_connect.h"

namespace berth::net {
namespace {

using std::chrono::seconds;

sockaddr_in RelayAddress(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::string ReadAll(int file) {
  std::string text;
  std::array<char, 4096> bytes;
  ssize_t got = 0;
  while ((got = recv(file, bytes.data(), bytes.size(), 0)) > 0) {
    text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  return text;
}

void WriteAll(int file, const std::string& text) {
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t count = send(file, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return;
    sent += static_cast<std::size_t>(count);
  }
}

// Reads one request to its end, then answers "word: N bytes" and closes, connection by connection.
class CountingTarget {
 public:
  explicit CountingTarget(std::string word) : word_(std::move(word)) {
    file_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = RelayAddress(0);
    socklen_t size = sizeof address;
    bind(file_, reinterpret_cast<sockaddr*>(&address), size);
    getsockname(file_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    listen(file_, 16);
    thread_ = std::thread([this] {
      for (int client = 0; (client = accept(file_, nullptr, nullptr)) >= 0;) {
        const std::string text = ReadAll(client);
        WriteAll(client, word_ + ": " + std::to_string(text.size()) + " bytes");
        close(client);
      }
    });
  }
  ~CountingTarget() {
    shutdown(file_, SHUT_RDWR);
    thread_.join();
    close(file_);
  }
  RelayTarget target() const { return {"127.0.0.1", port_}; }

 private:
  const std::string word_;
  int file_ = -1;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

// The answer to `text`; the client ends its direction first.
std::string Ask(std::uint16_t port, const std::string& text) {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = RelayAddress(port);
  std::string answer = "refused";
  if (connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    WriteAll(file, text);
    shutdown(file, SHUT_WR);
    answer = ReadAll(file);
  }
  close(file);
  return answer;
}

class TcpRelayTest : public ::testing::Test {
 protected:
  TcpRelayTest() : relay_(std::move(*TcpRelay::Listen(pool_, "127.0.0.1", 0))) {}

  // A port where nothing listens.
  static RelayTarget Nobody() {
    const CountingTarget gone("gone");
    return gone.target();
  }

  Status Try(std::uint16_t port, const std::string& address = "127.0.0.1") {
    std::promise<Status> answer;
    TryConnect(pool_, address, port, seconds(10), [&](Status status) { answer.set_value(status); });
    return answer.get_future().get();
  }

  IoPool pool_{2};
  std::unique_ptr<TcpRelay> relay_;
};

TEST_F(TcpRelayTest, TargetsAlternateAndReceiveAllBytes) {
  const CountingTarget one("one");
  const CountingTarget two("two");
  relay_->SetTargets({one.target(), two.target()});
  const std::string large(3'000'000, 'x');
  EXPECT_EQ(Ask(relay_->port(), large), "one: 3000000 bytes");
  EXPECT_EQ(Ask(relay_->port(), "abc"), "two: 3 bytes");
  EXPECT_EQ(Ask(relay_->port(), ""), "one: 0 bytes");
}

TEST_F(TcpRelayTest, TargetThatRefusesIsSkipped) {
  const CountingTarget one("one");
  relay_->SetTargets({Nobody(), one.target(), {"not an address", 1}});
  for (int turn = 0; turn < 4; ++turn) EXPECT_EQ(Ask(relay_->port(), "a"), "one: 1 bytes");
}

TEST_F(TcpRelayTest, ConnectionsEndWithoutATarget) {
  EXPECT_EQ(Ask(relay_->port(), ""), "");
  relay_->SetTargets({Nobody()});
  EXPECT_EQ(Ask(relay_->port(), ""), "");
}

TEST_F(TcpRelayTest, OpenConnectionOutlivesTheRelay) {
  const CountingTarget one("one");
  relay_->SetTargets({one.target()});
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = RelayAddress(relay_->port());
  ASSERT_EQ(connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  WriteAll(file, "ab");
  // The next connection is answered, so the first one was accepted.
  std::thread second([port = relay_->port()] { Ask(port, "c"); });
  shutdown(file, SHUT_WR);
  second.join();
  relay_.reset();
  EXPECT_EQ(ReadAll(file), "one: 2 bytes");
  close(file);
}

TEST_F(TcpRelayTest, BadAddressesAndTakenPortsAreRefused) {
  const auto taken = TcpRelay::Listen(pool_, "127.0.0.1", relay_->port());
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(TcpRelay::Listen(pool_, "localhost", 0).error().code, ErrorCode::kInvalid);
}

TEST_F(TcpRelayTest, TryConnectReportsWhetherAPortAccepts) {
  EXPECT_TRUE(Try(relay_->port()));
  const Status refused = Try(Nobody().port);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(Try(1, "localhost").error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace berth::net

// Goal: connections that break, stall or send too much do no harm: received bytes are
// kept, time and memory are bounded. Method: a peer on raw sockets that sends exact
// bytes.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/haversine/http_reader.h"
#include "tests/jobs/haversine/object_store.h"
#include "tests/net/raw_peer.h"

namespace berth::haversine {
namespace {

using net::RawListener;
using net::RawPeer;
using testing::HasSubstr;

constexpr std::size_t kObjectBytes = 400'000;

std::string Head(std::size_t first, std::size_t last) {
  return "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes " + std::to_string(first) + "-" +
         std::to_string(last) + "/" + std::to_string(kObjectBytes) +
         "\r\nContent-Length: " + std::to_string(last - first + 1) +
         "\r\nConnection: close\r\n\r\n";
}

std::size_t FirstOf(const std::string& request) {
  const std::size_t range = request.find("bytes=");
  return range == std::string::npos ? 0 : std::stoul(request.substr(range + 6));
}

// Answers the request for the size, then serves each connection as the test says.
class Peer {
 public:
  explicit Peer(std::function<void(RawListener&)> then)
      : thread_([this, then = std::move(then)] {
          {
            RawPeer peer = listener_.Accept();
            peer.ReadUntil("\r\n\r\n");
            peer.Send(Head(0, 0) + object_.substr(0, 1));
            peer.ShutdownSend();
            peer.ReadToEnd();
          }
          then(listener_);
        }) {}
  std::string Url() const {
    return "http://127.0.0.1:" + std::to_string(listener_.port()) + "/trips.csv";
  }

 private:
  std::string object_ = ObjectOf(kObjectBytes);
  RawListener listener_;
  std::jthread thread_;
};

TEST(HttpFaults, BrokenConnectionIsResumedAfterTheReceivedBytes) {
  const std::string object = ObjectOf(kObjectBytes);
  std::vector<std::size_t> firsts;
  const Peer peer([&](RawListener& listener) {
    for (std::size_t first = 0; first < kObjectBytes;) {
      RawPeer connection = listener.Accept();
      first = FirstOf(connection.ReadUntil("\r\n\r\n"));
      firsts.push_back(first);
      connection.Send(Head(first, kObjectBytes - 1) + object.substr(first, 150'000));
      connection.ShutdownSend();
      connection.ReadToEnd();
      if (first + 150'000 >= kObjectBytes) break;
    }
  });
  auto reader = OpenUrl(peer.Url(), FastOptions());
  ASSERT_TRUE(reader) << reader.error().message;
  std::string bytes(kObjectBytes, '\0');
  const Status status = (*reader)->ReadAt(0, {bytes.data(), bytes.size()});
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_TRUE(bytes == object);
  ASSERT_GE(firsts.size(), 3U);
  EXPECT_GT(firsts[1], 0U) << "started over instead of going on";
  EXPECT_LE(firsts[1], 150'000U);
}

// The ranges are right, the bodies are endless: the reader neither hangs nor grows.
TEST(HttpFaults, ABodyThatIsTooLongIsCut) {
  const std::string lump(64 * 1024, 'x');
  for (const bool chunked : {false, true}) {
    const Peer peer([&](RawListener& listener) {
      for (int attempt = 0; attempt < 4; ++attempt) {
        RawPeer connection = listener.Accept();
        connection.ReadUntil("\r\n\r\n");
        connection.Send(
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-99/400000\r\n" +
            std::string(chunked ? "Transfer-Encoding: chunked" : "Content-Length: 100000000") +
            "\r\n\r\n");
        for (int i = 0; i < 1600; ++i) {
          if (!connection.Send(chunked ? "10000\r\n" + lump + "\r\n" : lump)) break;
        }
        if (chunked) break;
      }
    });
    auto reader = OpenUrl(peer.Url(), FastOptions());
    ASSERT_TRUE(reader) << reader.error().message;
    std::array<char, 100> bytes{};
    const Status status = (*reader)->ReadAt(0, bytes);
    if (chunked) {
      EXPECT_TRUE(status || status.error().code == ErrorCode::kUnavailable);
    } else {
      ASSERT_FALSE(status);
      EXPECT_THAT(status.error().message,
                  HasSubstr("100000000 bytes, longer than asked for (4 attempts)"));
    }
    (*reader)->Cancel();
  }
}

TEST(HttpFaults, ReadFromASilentServerEndsAtTheDeadline) {
  const Peer peer([&](RawListener& listener) {
    RawPeer connection = listener.Accept();
    connection.ReadUntil("\r\n\r\n");
    connection.Send(Head(0, kObjectBytes - 1) + "a few bytes");
    connection.ReadToEnd();  // until the reader goes
  });
  HttpOptions options = FastOptions();
  options.deadline = std::chrono::milliseconds(300);
  auto reader = OpenUrl(peer.Url(), options);
  ASSERT_TRUE(reader) << reader.error().message;
  std::string bytes(kObjectBytes, '\0');
  const Status status = (*reader)->ReadAt(0, {bytes.data(), bytes.size()});
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("deadline"));
}

TEST(HttpFaults, CancelEndsAWaitingRead) {
  RangeReader* waiting = nullptr;
  const Peer peer([&](RawListener& listener) {
    RawPeer connection = listener.Accept();
    connection.ReadUntil("\r\n\r\n");
    waiting->Cancel();
    connection.ReadToEnd();
  });
  auto reader = OpenUrl(peer.Url(), FastOptions());
  ASSERT_TRUE(reader) << reader.error().message;
  waiting = reader->get();
  std::array<char, 100> bytes{};
  const Status status = (*reader)->ReadAt(0, bytes);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("cancelled"));
}

}  // namespace
}  // namespace berth::haversine

// Goal: no peer makes the client crash, hang, grow without bound, repeat a write or confuse
// answers. Method: the test plays the peer, byte by byte.
#include <poll.h>

#include "net/client.h"
#include "tests/net/client_fixture.h"

namespace berth::net {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kChunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
constexpr auto kShort = std::chrono::milliseconds(200);

class ClientFault : public ClientFixture {
 protected:
  void ExpectUnavailable(std::string_view answer) {
    const auto got = AskPeer(answer);
    ASSERT_FALSE(got) << answer << " gave status " << got->status << ", body " << got->body;
    EXPECT_EQ(got.error().code, ErrorCode::kUnavailable) << answer;
  }
  // The peer sends `answer` and then nothing, without closing.
  void ExpectStall(std::string_view answer, std::string_view stage) {
    const auto client = MakeClient(listener_.port());
    Answer pending = Send(*client, Make("GET", "/"), kShort);
    RawPeer peer = listener_.Accept();
    peer.ReadUntil("\r\n\r\n");
    peer.Send(answer);
    const auto got = pending.get();
    ASSERT_FALSE(got) << answer;
    EXPECT_EQ(got.error().code, ErrorCode::kDeadlineExceeded) << answer;
    EXPECT_THAT(got.error().message,
                EndsWith("no answer within 200 ms (" + std::string(stage) + ")"));
  }
};

TEST_F(ClientFault, MalformedAnswersAreRefused) {
  for (const char* size : {"-1", "-2", "-10", "fffffffffffffffff", "xyz", "", " 5", "0x5"}) {
    ExpectUnavailable(std::string(kChunked) + size + "\r\nhello\r\n0\r\n\r\n");
  }
  for (const char* field :
       {"Content-Length: -1", "Content-Length: abc", "Content-Length: 99999999999999999999",
        "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5, 6",
        "Content-Length:", "Content-Length: +5", "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5", "Transfer-Encoding: gzip",
        "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, gzip",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Bad Name: x", "NoColon",
        ": empty"}) {
    ExpectUnavailable(std::string("HTTP/1.1 200 OK\r\n") + field + "\r\n\r\nhello");
  }
  for (const char* line : {"HTTP/x.y 200 OK", "HTTP/2.0 200 OK", "HTTP/1.1 20 OK",
                           "HTTP/1.1 abc OK", "HTTP/1.1200 OK", "ICY 200 OK", "\xff\xfe\x00", ""}) {
    ExpectUnavailable(std::string(line) + "\r\nContent-Length: 2\r\n\r\nok");
  }
  ExpectUnavailable("");
  ExpectUnavailable(std::string(2000, '\0'));
}

TEST_F(ClientFault, TruncatedAnswersAreErrors) {
  for (const std::string_view answer :
       {std::string_view("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"),
        std::string_view("HTTP/1.1 200 OK\r\nContent-Le"), std::string_view("HTTP/1.1 2"),
        std::string_view("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"),
        std::string_view("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
        std::string_view("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\nx")}) {
    const auto got = AskPeer(answer);
    ASSERT_FALSE(got) << answer;
    EXPECT_THAT(got.error().code, testing::AnyOf(ErrorCode::kUnavailable, ErrorCode::kInvalid));
  }
}

TEST_F(ClientFault, BodiesHaveALimit) {
  ClientOptions options{.base_url = "http://127.0.0.1:" + std::to_string(listener_.port())};
  options.max_body_bytes = 1000;
  const auto client = MakeClient(options);
  const std::string too_much(1001, 'x');
  for (const std::string& answer :
       {"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n" + too_much,
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n"),
        std::string(kChunked) + "40000000\r\n", std::string(kChunked) + "3e9\r\n" + too_much,
        "HTTP/1.1 200 OK\r\n\r\n" + too_much}) {
    Answer pending = Send(*client, Make("GET", "/"));
    RawPeer peer = listener_.Accept();
    peer.ReadUntil("\r\n\r\n");
    peer.Send(answer);
    const auto got = pending.get();
    ASSERT_FALSE(got) << answer.substr(0, 80);
    EXPECT_EQ(got.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(got.error().message, EndsWith("the body of the answer is larger than 1000 bytes"));
  }
  Answer pending = Send(*client, Make("GET", "/"));
  RawPeer peer = listener_.Accept();
  peer.ReadUntil("\r\n\r\n");
  peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + std::string(1000, 'x'));
  EXPECT_EQ(pending.get()->body.size(), 1000U);
}

TEST_F(ClientFault, HeadersHaveALimit) {
  for (const std::string_view line : {"X: y\r\n", "x"}) {  // many lines; one without an end
    const auto client = MakeClient(listener_.port());
    Answer pending = Send(*client, Make("GET", "/"));
    RawPeer peer = listener_.Accept();
    peer.ReadUntil("\r\n\r\n");
    peer.Send("HTTP/1.1 200 OK\r\n");
    std::size_t sent = 0;
    while (sent < 50'000'000 && peer.Send(line)) sent += line.size();
    EXPECT_LT(sent, 50'000'000U);
    const auto got = pending.get();
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(got.error().message,
                EndsWith("the header of the answer is larger than 65536 bytes"));
  }
}

TEST_F(ClientFault, TimeoutCoversEveryStage) {
  ExpectStall("", "waiting for the answer");
  ExpectStall("HTTP/1.1 200 OK\r\nContent-", "reading the answer");
  ExpectStall("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "reading the answer");
  ExpectStall(std::string(kChunked) + "5\r\nhe", "reading the answer");
  ExpectStall(std::string(kChunked) + "5\r\nhello\r\n", "reading the answer");
  ExpectStall("HTTP/1.1 100 Continue\r\n\r\n", "reading the answer");
}

TEST_F(ClientFault, AStalledHandshakeTimesOut) {
  const auto client =
      MakeClient(ClientOptions{.base_url = "https://127.0.0.1:" + std::to_string(listener_.port()),
                               .ca_pem = TestAuthority().certificate_chain_pem});
  Answer pending = Send(*client, Make("POST", "/"), kShort);
  RawPeer peer = listener_.Accept();
  const auto got = pending.get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(got.error().message, EndsWith("(in the TLS handshake)"));
}

TEST_F(ClientFault, APeerThatDoesNotReadTimesOut) {
  const auto client = MakeClient(listener_.port());
  // NOLINTNEXTLINE(bugprone-string-constructor): so much is the point
  Answer pending = Send(*client, Make("POST", "/", std::string(30'000'000, 'x')), kShort);
  RawPeer peer = listener_.Accept();
  const auto got = pending.get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(got.error().message, HasSubstr("(sending); the request may have taken effect"));
}

TEST_F(ClientFault, SlowBodyDoesNotExtendTheTimeout) {
  const auto client = MakeClient(listener_.port());
  Answer pending = Send(*client, Make("GET", "/"), kShort);
  RawPeer peer = listener_.Accept();
  peer.ReadUntil("\r\n\r\n");
  peer.Send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
  int dripped = 0;
  pollfd watch{peer.socket(), POLLIN, 0};
  while (dripped < 1000 && poll(&watch, 1, 20) == 0 && peer.Send("x")) ++dripped;
  EXPECT_LT(dripped, 1000);
  EXPECT_EQ(pending.get().error().code, ErrorCode::kDeadlineExceeded);
}

TEST_F(ClientFault, GetIsRepeatedOnceOnALostConnection) {
  const auto client = MakeClient(listener_.port());
  Answer pending = Send(*client, Make("GET", "/1"));
  {
    RawPeer peer = listener_.Accept();
    peer.ReadUntil("\r\n\r\n");
    peer.Send(kOk);
    EXPECT_TRUE(pending.get());
    pending = Send(*client, Make("GET", "/2"));
    EXPECT_THAT(peer.ReadUntil("\r\n\r\n"), StartsWith("GET /2 "));
  }  // read, and closed without an answer
  {
    RawPeer peer = listener_.Accept();
    EXPECT_THAT(peer.ReadUntil("\r\n\r\n"), StartsWith("GET /2 "));
  }  // again: on a fresh connection it is not repeated
  const auto got = pending.get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(got.error().message, Not(HasSubstr("may have taken effect")));
}

TEST_F(ClientFault, WritesAreNeverRepeated) {
  const auto client = MakeClient(listener_.port());
  for (const char* method : {"POST", "PATCH", "PUT", "DELETE"}) {
    Answer pending = Send(*client, Make("GET", "/"));
    RawPeer peer = listener_.Accept();
    peer.ReadUntil("\r\n\r\n");
    peer.Send(kOk);
    EXPECT_TRUE(pending.get());
    pending = Send(*client, Make(method, "/", "x"));
    EXPECT_THAT(peer.ReadUntil("\r\n\r\nx"), StartsWith(method));
    peer.Reset();
    const auto got = pending.get();
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(got.error().message, EndsWith("; the request may have taken effect"));
  }
}

TEST_F(ClientFault, AnIdleConnectionThatWasClosedIsNotUsed) {
  for (const bool with_reset : {false, true}) {
    const auto client = MakeClient(listener_.port());
    Answer pending = Send(*client, Make("GET", "/"));
    {
      RawPeer peer = listener_.Accept();
      peer.ReadUntil("\r\n\r\n");
      peer.Send(kOk);
      EXPECT_TRUE(pending.get());
      if (with_reset) peer.Reset();
    }
    pending = Send(*client, Make("POST", "/", "x"));
    RawPeer peer = listener_.Accept();
    EXPECT_THAT(peer.ReadUntil("\r\n\r\nx"), StartsWith("POST / "));
    peer.Send(kOk);
    EXPECT_TRUE(pending.get());
  }
}

TEST_F(ClientFault, UnrequestedAnswersAreNotTakenForTheNextRequest) {
  for (const bool at_once : {true, false}) {
    const auto client = MakeClient(listener_.port());
    Answer pending = Send(*client, Make("GET", "/"));
    RawPeer peer = listener_.Accept();
    peer.ReadUntil("\r\n\r\n");
    const std::string evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    peer.Send(at_once ? std::string(kOk) + evil : std::string(kOk));
    EXPECT_EQ(pending.get()->body, "ok");
    if (!at_once) peer.Send(evil);
    pending = Send(*client, Make("POST", "/"));
    RawPeer fresh = listener_.Accept();
    fresh.ReadUntil("\r\n\r\n");
    fresh.Send(kOk);
    EXPECT_EQ(pending.get()->body, "ok");
  }
}

TEST_F(ClientFault, EarlyAnswerEndsTheSending) {
  const auto client = MakeClient(listener_.port());
  // NOLINTNEXTLINE(bugprone-string-constructor): so much is the point
  Answer pending = Send(*client, Make("POST", "/", std::string(30'000'000, 'x')));
  RawPeer peer = listener_.Accept();
  peer.ReadUntil("\r\n\r\n");
  peer.Send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n");
  const auto got = pending.get();
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->status, 413);

  pending = Send(*client, Make("GET", "/"));  // the half-sent one is not reused
  RawPeer fresh = listener_.Accept();
  EXPECT_THAT(fresh.ReadUntil("\r\n\r\n"), StartsWith("GET / "));
  fresh.Send(kOk);
  EXPECT_TRUE(pending.get());
}

}  // namespace
}  // namespace berth::net

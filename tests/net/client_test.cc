// Goal: the client meets docs/develop/decisions/0003-http.md with a peer that behaves.
#include "net/client.h"

#include "tests/net/client_fixture.h"

namespace berth::net {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Client : public ClientFixture {};

TEST_F(Client, SendAndWaitReturnsTheAnswer) {
  StartServer();
  const auto client = MakeClient(port());
  const auto got = client->SendAndWait(Make("GET", "/echo?x=1"), std::chrono::seconds(10));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(got->body, "GET /echo?x=1 ");
  const auto posted = client->SendAndWait(Make("POST", "/echo", std::string(100000, 'p')),
                                          std::chrono::seconds(10));
  ASSERT_TRUE(posted) << posted.error().message;
  EXPECT_EQ(posted->body, "POST /echo " + std::string(100000, 'p'));
  const auto big = client->SendAndWait(Make("GET", "/big?9000000"), std::chrono::seconds(10));
  ASSERT_TRUE(big) << big.error().message;
  EXPECT_EQ(big->body.size(), 9000000U);
  const auto head = client->SendAndWait(Make("HEAD", "/big?77"), std::chrono::seconds(10));
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->headers.Find("content-length"), "77");
  EXPECT_EQ(head->body, "");
}

TEST_F(Client, SendsHostTokenAndHeadersOnce) {
  const auto client = MakeClient(ClientOptions{
      .base_url = "http://localhost:" + std::to_string(listener_.port()) + "/clusters/one/",
      .bearer_token = "secret",
      .user_agent = "berth/test"});
  Request request = Make("PATCH", "/api/v1/pods/a?force=true", "{}");
  request.headers = {{"Content-Type", "application/json"}, {"Content-Length", "999"}};
  Answer pending = Send(*client, request);
  RawPeer peer = listener_.Accept();
  EXPECT_EQ(peer.ReadUntil("{}"),
            "PATCH /clusters/one/api/v1/pods/a?force=true HTTP/1.1\r\n"
            "Host: localhost:" +
                std::to_string(listener_.port()) +
                "\r\n"
                "User-Agent: berth/test\r\n"
                "Authorization: Bearer secret\r\n"
                "Content-Type: application/json\r\n"
                "Content-Length: 2\r\n\r\n{}");
  peer.Send(kOk);
  EXPECT_TRUE(pending.get());

  request = Make("POST", "/");
  request.headers = {{"Authorization", "Basic x"}, {"X-Evil", "a\r\nHost: b"}};
  pending = Send(*client, request);
  const std::string head = peer.ReadUntil("\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("\r\nAuthorization: Basic x\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nX-Evil: a  Host: b\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nContent-Length: 0\r\n"));
  EXPECT_THAT(head, Not(HasSubstr("secret")));
  peer.Send(kOk);
  EXPECT_TRUE(pending.get());
}

TEST_F(Client, RefusesInvalidTargetsAndMethods) {
  const auto client = MakeClient(listener_.port());
  for (const char* target : {"", "no-slash", "/a b", "/a\r\nX: y", "/\xc3\xa9"}) {
    const auto got = client->SendAndWait(Make("GET", target), std::chrono::seconds(10));
    ASSERT_FALSE(got) << target;
    EXPECT_EQ(got.error().code, ErrorCode::kInvalid) << target;
  }
  EXPECT_EQ(client->SendAndWait(Make("G T", "/"), std::chrono::seconds(10)).error().code,
            ErrorCode::kInvalid);
}

TEST_F(Client, ReusesItsConnection) {
  const auto client = MakeClient(listener_.port());
  Answer pending = Send(*client, Make("GET", "/0"));
  RawPeer peer = listener_.Accept();
  peer.ReadUntil("\r\n\r\n");
  for (const char* next : {"/1", "/2", "/3"}) {
    peer.Send(kOk);
    EXPECT_EQ(pending.get()->body, "ok");
    pending = Send(*client, Make("POST", next, "x"));
    EXPECT_THAT(peer.ReadUntil("\r\n\r\nx"), StartsWith(std::string("POST ") + next));
  }
  peer.Send(kOk);
  EXPECT_TRUE(pending.get());
}

TEST_F(Client, ReadsBodiesOfEveryFraming) {
  EXPECT_EQ(AskPeer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "2\r\nab\r\n1;x=y\r\nc\r\n0\r\nTrailer: t\r\n\r\n")
                ->body,
            "abc");
  EXPECT_EQ(AskPeer("HTTP/1.1 200 OK\r\n\r\nuntil the end")->body, "until the end");
  EXPECT_EQ(AskPeer("HTTP/1.0 200 OK\r\n\r\nold")->body, "old");
  EXPECT_EQ(AskPeer("HTTP/1.1 204 No Content\r\n\r\n")->status, 204);
  EXPECT_EQ(AskPeer("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n")->status, 304);
  EXPECT_EQ(AskPeer("HTTP/1.1 503 \r\nContent-Length: 0\r\nRetry-After: 3\r\n\r\n")
                ->headers.Find("retry-after"),
            "3");
}

TEST_F(Client, SkipsInterimAnswers) {
  const auto got = AskPeer(
      "HTTP/1.1 100 Continue\r\n\r\n"
      "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
      "HTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\ny");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->status, 201);
  EXPECT_EQ(got->body, "y");
  EXPECT_FALSE(got->headers.Has("Link"));

  std::string endless;
  for (int count = 0; count < 50; ++count) endless += "HTTP/1.1 102 Processing\r\n\r\n";
  EXPECT_EQ(AskPeer(endless).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(AskPeer("HTTP/1.1 101 Switching Protocols\r\n\r\n").error().code,
            ErrorCode::kUnavailable);
}

TEST_F(Client, DoesNotFollowRedirects) {
  RawListener elsewhere;
  const auto got = AskPeer("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:" +
                           std::to_string(elsewhere.port()) + "/\r\nContent-Length: 0\r\n\r\n");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->status, 302);
}

TEST_F(Client, RequestsWaitInOrderForAConnection) {
  ClientOptions options{.base_url = "http://127.0.0.1:" + std::to_string(listener_.port())};
  options.max_connections = 1;
  options.max_waiting = 2;
  const auto client = MakeClient(options);
  Answer first = Send(*client, Make("GET", "/1"));
  RawPeer peer = listener_.Accept();
  EXPECT_THAT(peer.ReadUntil("\r\n\r\n"), StartsWith("GET /1 "));
  Answer second = Send(*client, Make("GET", "/2"));
  Answer late = Send(*client, Make("GET", "/late"), std::chrono::milliseconds(1));
  const auto expired = late.get();
  ASSERT_FALSE(expired);
  EXPECT_EQ(expired.error().code, ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(expired.error().message, EndsWith("(waiting for a connection)"));
  Answer third = Send(*client, Make("GET", "/3"));
  Answer refused = Send(*client, Make("GET", "/4"));
  EXPECT_EQ(refused.get().error().code, ErrorCode::kUnavailable);

  peer.Send(kOk);
  EXPECT_TRUE(first.get());
  EXPECT_THAT(peer.ReadUntil("\r\n\r\n"), StartsWith("GET /2 "));
  peer.Send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(second.get());
  RawPeer next = listener_.Accept();
  EXPECT_THAT(next.ReadUntil("\r\n\r\n"), StartsWith("GET /3 "));
  next.Send(kOk);
  EXPECT_TRUE(third.get());
}

TEST_F(Client, DestructorEndsRequestsAndStreams) {
  auto client = MakeClient(listener_.port());
  Answer pending = Send(*client, Make("POST", "/", "x"));
  StreamLog log(waiter_);
  const auto stream =
      client->Open(Make("GET", "/watch"), std::chrono::seconds(60), log.Callbacks());
  RawPeer one = listener_.Accept();
  one.ReadUntil("\r\n\r\n");
  RawPeer two = listener_.Accept();
  two.ReadUntil("\r\n\r\n");
  client.reset();
  const auto got = pending.get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(got.error().message, HasSubstr("may have taken effect"));
  ASSERT_EQ(log.ends.size(), 1U);
  EXPECT_EQ(log.ends[0].error().code, ErrorCode::kUnavailable);
}

TEST_F(Client, ManyRequestsShareFewConnections) {
  StartServer();
  ClientOptions options{.base_url = "http://127.0.0.1:" + std::to_string(port())};
  options.max_connections = 8;
  const auto client = MakeClient(options);
  std::vector<Answer> answers;
  for (int count = 0; count < 500; ++count) {
    answers.push_back(Send(*client, Make("PUT", "/" + std::to_string(count), "b")));
  }
  for (int count = 0; count < 500; ++count) {
    const auto got = answers[static_cast<std::size_t>(count)].get();
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->body, "PUT /" + std::to_string(count) + " b");
  }
}

TEST_F(Client, SpeaksIpv6) {
  ServerOptions options;
  options.address = "::1";
  auto started = HttpServer::Start(
      pool_, options, [](const Request& request, const std::shared_ptr<Responder>& responder) {
        responder->Send({200, {}, request.peer_address});
      });
  if (!started) GTEST_SKIP() << started.error().message;
  const auto client =
      MakeClient(ClientOptions{.base_url = "http://[::1]:" + std::to_string((*started)->port())});
  const auto got = client->SendAndWait(Make("GET", "/"), std::chrono::seconds(10));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_THAT(got->body, StartsWith("[::1]:"));
}

TEST_F(Client, ErrorNamesTheAddressWhereNoServerListens) {
  std::uint16_t closed_port = 0;
  {
    RawListener listener;
    closed_port = listener.port();
  }
  const auto client = MakeClient(closed_port);
  const std::string address = "127.0.0.1:" + std::to_string(closed_port);
  const auto got = client->SendAndWait(Make("POST", "/x"), std::chrono::seconds(10));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error(),
            (Error{ErrorCode::kUnavailable, "POST http://" + address + "/x: connecting to " +
                                                address + ": Connection refused"}));
}

}  // namespace
}  // namespace berth::net

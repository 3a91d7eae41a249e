// Goal: the server speaks HTTP/1.1 as clients expect it. Method: raw bytes on a real socket.
#include "net/server.h"

#include <chrono>
#include <memory>
#include <thread>

#include "tests/net/server_fixture.h"

namespace berth::net {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Server : public ServerFixture {
 protected:
  std::string Ask(std::string_view request) {
    RawPeer peer = Connect();
    EXPECT_TRUE(peer.Send(request));
    return peer.ReadResponse();
  }
};

TEST_F(Server, AnswersAndKeepsTheConnection) {
  StartServer();
  RawPeer peer = Connect();
  for (int round = 0; round < 3; ++round) {
    peer.Send("GET /echo?a=%20b HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string answer = peer.ReadResponse();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(answer, HasSubstr("\r\nDate: "));
    EXPECT_THAT(answer, EndsWith("\r\n\r\nGET /echo?a=%20b "));
  }
}

TEST_F(Server, ReadsBodiesByLengthAndInChunks) {
  StartServer();
  EXPECT_THAT(Ask("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"),
              EndsWith("\r\n\r\nPOST /echo hello"));
  EXPECT_THAT(Ask("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "3;ext=1\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: dropped\r\n\r\n"),
              EndsWith("\r\n\r\nPOST /echo hello"));
}

TEST_F(Server, ReadsABodySentByteByByte) {
  StartServer();
  RawPeer peer = Connect();
  for (const char c :
       std::string("PUT /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")) {
    peer.Send({&c, 1});
  }
  EXPECT_THAT(peer.ReadResponse(), EndsWith("PUT /echo abc"));
}

TEST_F(Server, SendsLargeBodies) {
  StartServer();
  const std::string answer = Ask("GET /big?5000000 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer.substr(0, 300), HasSubstr("\r\nContent-Length: 5000000\r\n"));
  EXPECT_GT(answer.size(), 5000000U);
}

TEST_F(Server, AnswersPipelinedRequestsInOrder) {
  StartServer();
  RawPeer peer = Connect();
  peer.Send(
      "GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"
      "POST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nb"
      "GET /3 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(peer.ReadResponse(), EndsWith("\r\n\r\nGET /1 "));
  EXPECT_THAT(peer.ReadResponse(), EndsWith("\r\n\r\nPOST /2 b"));
  EXPECT_THAT(peer.ReadResponse(), EndsWith("\r\n\r\nGET /3 "));
}

TEST_F(Server, HeadHasTheLengthButNoBody) {
  StartServer();
  RawPeer peer = Connect();
  peer.Send("HEAD /big?70000 HTTP/1.1\r\nHost: x\r\n\r\nGET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(peer.ReadUntil("\r\n\r\n"), HasSubstr("\r\nContent-Length: 70000\r\n"));
  EXPECT_THAT(peer.ReadResponse(), EndsWith("GET /echo "));
}

TEST_F(Server, ClosesWhenAsked) {
  StartServer();
  RawPeer peer = Connect();
  peer.Send("GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string answer = peer.ReadToEnd();
  EXPECT_THAT(answer, HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(answer, EndsWith("GET /echo "));
}

TEST_F(Server, SpeaksHttp10) {
  StartServer();
  RawPeer peer = Connect();
  peer.Send("GET /echo HTTP/1.0\r\n\r\n");
  EXPECT_THAT(peer.ReadToEnd(), EndsWith("GET /echo "));

  RawPeer keeping = Connect();
  keeping.Send("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_THAT(keeping.ReadResponse(), HasSubstr("\r\nConnection: keep-alive\r\n"));
  keeping.Send("GET /2 HTTP/1.0\r\n\r\n");
  EXPECT_THAT(keeping.ReadToEnd(), EndsWith("GET /2 "));
}

TEST_F(Server, AnswersExpectContinue) {
  StartServer();
  RawPeer peer = Connect();
  peer.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(peer.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  peer.Send("ok");
  EXPECT_THAT(peer.ReadResponse(), EndsWith("POST /echo ok"));

  RawPeer impatient = Connect();  // sends its body along: nothing to wait for
  impatient.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nok");
  EXPECT_THAT(impatient.ReadResponse(), StartsWith("HTTP/1.1 200 OK\r\n"));

  EXPECT_THAT(Ask("GET / HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\n\r\n"),
              StartsWith("HTTP/1.1 417 "));
}

TEST_F(Server, ADroppedOrThrowingHandlerAnswers500) {
  StartServer();
  RawPeer peer = Connect();
  peer.Send("GET /drop HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(peer.ReadResponse(), StartsWith("HTTP/1.1 500 "));
  peer.Send("GET /throw HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(peer.ReadResponse(), StartsWith("HTTP/1.1 500 "));
}

TEST_F(Server, AnswersOnceFromAnyThread) {
  StartServer();
  RawPeer peer = Connect();
  peer.Send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n");
  auto responders = WaitForResponders(1);
  responders[0]->Send({200, {}, "from the test's thread"});
  responders[0]->Send({200, {}, "a second answer goes nowhere"});
  EXPECT_FALSE(responders[0]->StartStream(200, {})->Write("neither does a stream"));
  EXPECT_THAT(peer.ReadResponse(), EndsWith("from the test's thread"));
  responders.clear();
  peer.Send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(peer.ReadResponse(), EndsWith("GET /echo "));
}

TEST_F(Server, AResponderOutlivesItsConnection) {
  StartServer();
  {
    RawPeer peer = Connect();
    peer.Send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n");
    auto responders = WaitForResponders(1);
    peer.Reset();
    responders[0]->Send({200, {}, std::string(1000000, 'x')});
  }
  RawPeer peer = Connect();
  peer.Send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n");
  auto responders = WaitForResponders(1);
  server_->Stop();
  responders[0]->Send({200, {}, "nobody"});
  EXPECT_FALSE(responders[0]->StartStream(200, {})->Write("nobody"));
}

TEST_F(Server, HalfClosedPeerReceivesItsAnswers) {
  StartServer();
  RawPeer peer = Connect();
  peer.Send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  peer.ShutdownSend();
  const std::string answers = peer.ReadToEnd();
  EXPECT_THAT(answers, HasSubstr("\r\n\r\nGET /1 "));
  EXPECT_THAT(answers, EndsWith("\r\n\r\nGET /2 "));
}

TEST_F(Server, ResponseHeadersCannotInjectLines) {
  StartServer();
  RawPeer peer = Connect();
  peer.Send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n");
  Response response;
  response.headers = {{"Warning", "a\r\nSet-Cookie: evil"},
                      {"Bad Name", "x"},
                      {"Content-Length", "99"},
                      {"Transfer-Encoding", "gzip"}};
  WaitForResponders(1)[0]->Send(response);
  const std::string answer = peer.ReadResponse();
  EXPECT_THAT(answer, HasSubstr("\r\nWarning: a  Set-Cookie: evil\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 0\r\n"));
  EXPECT_THAT(answer, Not(HasSubstr("Bad Name")));
  EXPECT_THAT(answer, Not(HasSubstr("gzip")));
}

TEST_F(Server, ABusyPortNamesTheAddress) {
  StartServer();
  ServerOptions options;
  options.port = port();
  const auto second = HttpServer::Start(pool_, options, [](const Request&, auto) {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(second.error().message,
            "cannot listen on 127.0.0.1:" + std::to_string(port()) + ": Address already in use");
}

TEST_F(Server, RefusesInvalidAddressesAndIdentities) {
  const auto start = [&](ServerOptions options) {
    return HttpServer::Start(pool_, std::move(options), [](const Request&, auto) {});
  };
  ServerOptions named;
  named.address = "localhost";
  EXPECT_EQ(start(named).error().code, ErrorCode::kInvalid);
  ServerOptions garbage;
  garbage.tls = std::make_shared<TlsIdentity>(TlsIdentity{"no PEM", "no PEM"});
  EXPECT_EQ(start(garbage).error().code, ErrorCode::kInvalid);
  ServerOptions mixed;
  mixed.tls = std::make_shared<TlsIdentity>(
      TlsIdentity{TestServerIdentity()->certificate_chain_pem, TestAuthority().private_key_pem});
  EXPECT_EQ(start(mixed).error().code, ErrorCode::kInvalid);
  ServerOptions plain_with_ca;
  plain_with_ca.client_ca_pem = TestAuthority().certificate_chain_pem;
  EXPECT_EQ(start(plain_with_ca).error().code, ErrorCode::kInvalid);
}

TEST_F(Server, ResponderDetectsThatThePeerHasLeft) {
  StartServer();
  enum class Leaves { kEndsItsSide, kResets, kCloses };
  for (const Leaves how : {Leaves::kEndsItsSide, Leaves::kResets, Leaves::kCloses}) {
    auto peer = std::make_unique<RawPeer>(Connect());
    peer->Send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n");
    const auto responder = WaitForResponders(1)[0];
    EXPECT_FALSE(responder->HasPeerLeft());
    if (how == Leaves::kEndsItsSide) peer->ShutdownSend();
    if (how == Leaves::kResets) peer->Reset();
    if (how == Leaves::kCloses) peer.reset();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!responder->HasPeerLeft() && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(responder->HasPeerLeft()) << static_cast<int>(how);
  }
}

}  // namespace
}  // namespace berth::net

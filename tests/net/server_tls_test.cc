// Goal: TLS on the server: ALPN, client certificates, new identities, clients without TLS.
// Method: OpenSSL by hand on the other side.
#include "base/system_clock.h"
#include "net/server.h"
#include "tests/net/server_fixture.h"

namespace berth::net {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr std::string_view kWho = "GET /who HTTP/1.1\r\nHost: x\r\n\r\n";

class ServerTls : public ServerFixture {
 protected:
  void StartTlsServer(std::string client_ca_pem = {}) {
    ServerOptions options;
    options.tls = TestServerIdentity();
    options.client_ca_pem = std::move(client_ca_pem);
    StartServer(std::move(options));
  }
  static RawTlsOptions Trusting() {
    RawTlsOptions options;
    options.ca_pem = TestAuthority().certificate_chain_pem;
    return options;
  }
};

TEST_F(ServerTls, AnswersAndKeepsTheConnection) {
  StartTlsServer();
  RawPeer peer = Connect();
  ASSERT_TRUE(peer.StartTlsAsClient(Trusting()));
  for (const char* target : {"/1", "/2"}) {
    peer.Send(std::string("GET ") + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(peer.ReadResponse(), EndsWith(std::string("GET ") + target + " "));
  }
  peer.Send("GET /big?3000000 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_GT(peer.ReadToEnd().size(), 3000000U);
}

TEST_F(ServerTls, ChoosesHttp11) {
  StartTlsServer();
  RawPeer both = Connect();
  RawTlsOptions options = Trusting();
  options.alpn = std::string("\x02h2\x08http/1.1");
  ASSERT_TRUE(both.StartTlsAsClient(options));
  EXPECT_EQ(both.chosen_alpn(), "http/1.1");

  RawPeer only_h2 = Connect();
  options.alpn = std::string("\x02h2");
  EXPECT_FALSE(only_h2.StartTlsAsClient(options));
}

TEST_F(ServerTls, RequestHasTheNamesOfTheClientCertificate) {
  StartTlsServer(TestAuthority().certificate_chain_pem);
  CertificateRequest request;
  request.common_name = "system:admin";
  request.organizations = {"system:masters", "people"};
  request.for_client = true;
  const TlsIdentity identity = IssueForTest(TestAuthority(), request);
  RawTlsOptions options = Trusting();
  options.identity = &identity;

  RawPeer known = Connect();
  ASSERT_TRUE(known.StartTlsAsClient(options));
  known.Send(kWho);
  EXPECT_THAT(known.ReadResponse(), EndsWith("\r\n\r\nsystem:admin|system:masters,people"));

  RawPeer anonymous = Connect();
  ASSERT_TRUE(anonymous.StartTlsAsClient(Trusting()));
  anonymous.Send(kWho);
  EXPECT_THAT(anonymous.ReadResponse(), EndsWith("\r\n\r\n|"));
}

TEST_F(ServerTls, RefusesClientsOfAnotherAuthority) {
  StartTlsServer(TestAuthority().certificate_chain_pem);
  const WallTime start{};
  const auto other = MakeCertificateAuthority("test-ca", start, start + std::chrono::years(200));
  ASSERT_TRUE(other) << other.error().message;
  CertificateRequest request;
  request.common_name = "system:admin";
  request.for_client = true;
  const TlsIdentity stranger = IssueForTest(*other, request);
  CertificateRequest server_request = request;
  server_request.for_client = false;
  server_request.for_server = true;
  const TlsIdentity no_client = IssueForTest(TestAuthority(), server_request);
  CertificateRequest ended_request = request;
  ended_request.not_after = SystemClock().Now() - std::chrono::minutes(1);
  const TlsIdentity ended = IssueForTest(TestAuthority(), ended_request);

  for (const TlsIdentity* identity : {&stranger, &no_client, &ended}) {
    RawPeer peer = Connect();
    RawTlsOptions options = Trusting();
    options.identity = identity;
    // In TLS 1.3 the client finishes before the server has verified its certificate.
    peer.StartTlsAsClient(options);
    peer.Send(kWho);
    EXPECT_EQ(peer.ReadToEnd(), "");
  }
  EXPECT_EQ(request_count(), 0);
}

TEST_F(ServerTls, NewConnectionsGetTheReplacedIdentity) {
  StartTlsServer();
  RawPeer before = Connect();
  ASSERT_TRUE(before.StartTlsAsClient(Trusting()));

  const WallTime start{};
  const auto other = MakeCertificateAuthority("other", start, start + std::chrono::years(200));
  ASSERT_TRUE(other);
  CertificateRequest request;
  request.common_name = "replaced";
  request.for_server = true;
  ASSERT_TRUE(server_->ReplaceTls(std::make_shared<TlsIdentity>(IssueForTest(*other, request))));

  RawPeer after = Connect();
  EXPECT_FALSE(after.StartTlsAsClient(Trusting()));  // signed by a CA that `after` does not trust
  RawPeer trusting = Connect();
  RawTlsOptions options;
  options.ca_pem = other->certificate_chain_pem;
  EXPECT_TRUE(trusting.StartTlsAsClient(options));

  before.Send(kWho);
  EXPECT_THAT(before.ReadResponse(), EndsWith("|"));
  EXPECT_FALSE(server_->ReplaceTls(std::make_shared<TlsIdentity>()));
}

TEST_F(ServerTls, ConnectionWithoutTlsIsClosed) {
  StartTlsServer();
  RawPeer garbage = Connect();
  garbage.Send(std::string(100, '\xff'));
  garbage.ReadToEnd();
  EXPECT_TRUE(garbage.IsEnded());

  RawPeer plain = Connect();
  plain.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(plain.ReadToEnd(), HasSubstr("this port speaks TLS: use https://"));
}

TEST_F(ServerTls, SilentClientsAreCutAndDelayNoOtherClient) {
  ServerOptions options;
  options.tls = TestServerIdentity();
  options.handshake_timeout = std::chrono::seconds(1);
  StartServer(std::move(options));
  std::vector<RawPeer> mute;
  for (int count = 0; count < 10; ++count) mute.push_back(Connect());
  RawPeer peer = Connect();
  ASSERT_TRUE(peer.StartTlsAsClient(Trusting()));
  peer.Send(kWho);
  EXPECT_THAT(peer.ReadResponse(), EndsWith("|"));
  for (RawPeer& each : mute) EXPECT_TRUE(each.IsEnded());
}

TEST_F(ServerTls, StreamsAndDetectsThatThePeerHasLeft) {
  StartTlsServer();
  {
    RawPeer peer = Connect();
    ASSERT_TRUE(peer.StartTlsAsClient(Trusting()));
    peer.Send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    peer.ReadUntil("\r\n\r\n");
    const auto streams = WaitForStreams(1);
    EXPECT_TRUE(streams[0]->Write("event"));
    EXPECT_EQ(peer.ReadUntil("event\r\n"), "5\r\nevent\r\n");
  }
  EXPECT_TRUE(WaitForGone(1));
}

}  // namespace
}  // namespace berth::net

// Goal: the client trusts the configured roots, presents its certificate, and resumes its sessions.
#include "net/client.h"
#include "tests/net/client_fixture.h"

namespace berth::net {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class ClientTls : public ClientFixture {
 protected:
  void StartTlsServer(std::string client_ca_pem = {}) {
    ServerOptions options;
    options.tls = TestServerIdentity();
    options.client_ca_pem = std::move(client_ca_pem);
    StartServer(std::move(options));
  }
  static ClientOptions Trusting(std::uint16_t port, const std::string& host = "127.0.0.1") {
    return ClientOptions{.base_url = "https://" + host + ":" + std::to_string(port),
                         .ca_pem = TestAuthority().certificate_chain_pem};
  }
  Result<Response> Ask(ClientOptions options) {
    return MakeClient(std::move(options))->SendAndWait(Make("GET", "/who"), kLong);
  }
  void ExpectRefused(ClientOptions options, std::string_view why) {
    const auto got = Ask(std::move(options));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
    EXPECT_THAT(got.error().message, HasSubstr(std::string(why)));
    EXPECT_EQ(request_count(), 0);
  }
};

TEST_F(ClientTls, VerifiesServersByAddressAndByName) {
  StartTlsServer();
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const auto client = MakeClient(Trusting(port(), host));
    for (int round = 0; round < 3; ++round) {
      const auto got = client->SendAndWait(Make("POST", "/echo", std::string(50000, 'b')), kLong);
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(got->body.size(), 50011U);
    }
  }
}

TEST_F(ClientTls, SendsItsClientCertificate) {
  StartTlsServer(TestAuthority().certificate_chain_pem);
  CertificateRequest request;
  request.common_name = "berth";
  request.organizations = {"system:masters"};
  request.for_client = true;
  ClientOptions options = Trusting(port());
  options.certificate = std::make_shared<TlsIdentity>(IssueForTest(TestAuthority(), request));
  EXPECT_EQ(Ask(options)->body, "berth|system:masters");
  EXPECT_EQ(Ask(Trusting(port()))->body, "|");
}

TEST_F(ClientTls, RefusesAnotherAuthority) {
  StartTlsServer();
  const WallTime start{};
  const auto other = MakeCertificateAuthority("other", start, start + std::chrono::years(200));
  ASSERT_TRUE(other);
  ClientOptions options = Trusting(port());
  options.ca_pem = other->certificate_chain_pem;
  ExpectRefused(options, "certificate verify failed");
  options.ca_pem.clear();  // the system's roots do not know it either
  ExpectRefused(options, "certificate verify failed");
}

TEST_F(ClientTls, AcceptsAnyCertificateWhenConfigured) {
  StartTlsServer();
  ClientOptions options = Trusting(port());
  options.ca_pem.clear();
  options.server_name = "elsewhere.example";
  options.takes_any_certificate = true;
  EXPECT_TRUE(Ask(options));
}

TEST_F(ClientTls, RefusesACertificateOfAnotherName) {
  StartTlsServer();
  ClientOptions options = Trusting(port());
  options.server_name = "elsewhere.example";
  ExpectRefused(options, "hostname mismatch");
  options.server_name = "127.0.0.2";
  ExpectRefused(options, "IP address mismatch");
  options.server_name = "localhost";
  EXPECT_TRUE(Ask(options));
}

TEST_F(ClientTls, RefusesAClientCertificateAsServer) {
  CertificateRequest request;
  request.common_name = "localhost";
  request.ip_addresses = {"127.0.0.1"};
  request.for_client = true;
  ServerOptions options;
  options.tls = std::make_shared<TlsIdentity>(IssueForTest(TestAuthority(), request));
  StartServer(options);
  ExpectRefused(Trusting(port()), "certificate verify failed");
}

TEST_F(ClientTls, RefusesPemsItCannotRead) {
  for (const char* pem :
       {"garbage", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}) {
    ClientOptions options = Trusting(1);
    options.ca_pem = pem;
    const auto made = HttpClient::Create(pool_, options);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(made.error().message, testing::StartsWith("CA: "));
  }
  ClientOptions options = Trusting(1);
  options.certificate = std::make_shared<TlsIdentity>();
  EXPECT_EQ(HttpClient::Create(pool_, options).error().code, ErrorCode::kInvalid);
}

TEST_F(ClientTls, ResumesItsSession) {
  const auto identity = TestServerIdentity();
  const auto client = MakeClient(Trusting(listener_.port()));
  std::shared_ptr<SSL_CTX> context;
  for (const bool is_resumed : {false, true, true}) {
    Answer pending = Send(*client, Make("GET", "/"));
    RawPeer peer = listener_.Accept();
    RawTlsOptions options;
    options.identity = identity.get();
    options.context = context;
    ASSERT_TRUE(peer.StartTlsAsServer(options));
    context = peer.context();
    EXPECT_EQ(peer.was_resumed(), is_resumed);
    peer.ReadUntil("\r\n\r\n");
    peer.Send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    EXPECT_TRUE(pending.get());
  }
}

TEST_F(ClientTls, DoesNotReuseAClosedIdleConnection) {
  const auto identity = TestServerIdentity();
  RawTlsOptions options;
  options.identity = identity.get();
  const auto client = MakeClient(Trusting(listener_.port()));
  {
    Answer pending = Send(*client, Make("GET", "/"));
    RawPeer peer = listener_.Accept();
    ASSERT_TRUE(peer.StartTlsAsServer(options));
    peer.ReadUntil("\r\n\r\n");
    peer.Send(kOk);
    EXPECT_TRUE(pending.get());
  }  // close_notify
  Answer pending = Send(*client, Make("POST", "/", "x"));
  RawPeer peer = listener_.Accept();
  ASSERT_TRUE(peer.StartTlsAsServer(options));
  peer.ReadUntil("\r\n\r\nx");
  peer.Send(kOk);
  const auto got = pending.get();
  EXPECT_TRUE(got) << got.error().message;
}

TEST_F(ClientTls, BodyWithoutALengthNeedsCloseNotify) {
  const auto identity = TestServerIdentity();
  RawTlsOptions options;
  options.identity = identity.get();
  for (const bool is_cut : {true, false}) {
    const auto client = MakeClient(Trusting(listener_.port()));
    Answer pending = Send(*client, Make("GET", "/"));
    {
      RawPeer peer = listener_.Accept();
      ASSERT_TRUE(peer.StartTlsAsServer(options));
      peer.ReadUntil("\r\n\r\n");
      peer.Send("HTTP/1.1 200 OK\r\n\r\nbody");
      if (is_cut) peer.ShutdownSend();  // before the close_notify that the end of `peer` sends
    }
    const auto got = pending.get();
    EXPECT_EQ(got.has_value(), !is_cut);
    if (got) continue;
    EXPECT_THAT(got.error().message, EndsWith("without TLS close_notify"));
  }
}

TEST_F(ClientTls, GarbageInsteadOfTlsIsAnError) {
  const auto client = MakeClient(Trusting(listener_.port()));
  Answer pending = Send(*client, Make("GET", "/"));
  RawPeer peer = listener_.Accept();
  peer.Send(kOk);
  const auto got = pending.get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(got.error().message, HasSubstr("TLS handshake with 127.0.0.1:"));
}

TEST_F(ClientTls, StreamsEndWithTheServer) {
  StartTlsServer();
  const auto client = MakeClient(Trusting(port()));
  StreamLog log(waiter_);
  const auto handle = client->Open(Make("GET", "/stream"), kLong, log.Callbacks());
  const auto stream = WaitForStreams(1)[0];
  EXPECT_TRUE(stream->Write("event"));
  EXPECT_TRUE(log.WaitForData("event"));
  server_->Stop();
  EXPECT_TRUE(log.WaitForEnd());
  EXPECT_EQ(log.ends[0].error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace berth::net

// Goal: through a proxy the server is reached by a tunnel, with TLS to the server itself. Method:
// the test plays the proxy by hand.
#include "net/client.h"
#include "tests/net/client_fixture.h"

namespace berth::net {
namespace {

using testing::HasSubstr;

class ClientProxy : public ClientFixture {
 protected:
  ClientOptions Through(const std::string& user_info = "") {
    return ClientOptions{
        .base_url = "https://localhost:6443",
        .ca_pem = TestAuthority().certificate_chain_pem,
        .proxy_url = "http://" + user_info + "127.0.0.1:" + std::to_string(listener_.port())};
  }
  // The client's error after the proxy answered CONNECT with `answer`.
  std::string FailureAfter(std::string_view answer) {
    const auto client = MakeClient(Through());
    Answer pending = Send(*client, Make("GET", "/"), kLong);
    RawPeer proxy = listener_.Accept();
    proxy.ReadUntil("\r\n\r\n");
    proxy.Send(answer);
    proxy.ShutdownSend();
    const auto got = pending.get();
    EXPECT_FALSE(got);
    return got ? "" : got.error().message;
  }
};

TEST_F(ClientProxy, SpeaksTlsWithTheServerInTheTunnel) {
  const auto client = MakeClient(Through("us%40er:pass@"));
  Answer pending = Send(*client, Make("GET", "/x"), kLong);
  RawPeer proxy = listener_.Accept();
  EXPECT_EQ(proxy.ReadUntil("\r\n\r\n"),
            "CONNECT localhost:6443 HTTP/1.1\r\nHost: localhost:6443\r\n"
            "Proxy-Authorization: Basic dXNAZXI6cGFzcw==\r\n\r\n");
  proxy.Send("HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n");
  RawTlsOptions tls;
  const auto identity = TestServerIdentity();
  tls.identity = identity.get();
  ASSERT_TRUE(proxy.StartTlsAsServer(tls));
  const std::string request = proxy.ReadUntil("\r\n\r\n");
  EXPECT_THAT(request, HasSubstr("GET /x HTTP/1.1\r\n"));
  EXPECT_THAT(request, testing::Not(HasSubstr("Proxy-Authorization")));
  proxy.Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  const auto got = pending.get();
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->body, "ok");
}

TEST_F(ClientProxy, ErrorReportsTheAnswerOfTheProxy) {
  EXPECT_THAT(FailureAfter("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"),
              HasSubstr("407 Proxy Authentication Required"));
  EXPECT_THAT(FailureAfter("220 smtp ready\r\n\r\n"), HasSubstr("no HTTP/1.1"));
  EXPECT_THAT(FailureAfter("HTTP/1.1 200 OK\r\n\r\nmore"), HasSubstr("more than the answer"));
  EXPECT_THAT(FailureAfter("HTTP/1.1 200 OK\r\nA: " + std::string(20000, 'a')),
              HasSubstr("no HTTP/1.1"));
  EXPECT_THAT(FailureAfter(""), HasSubstr("proxy 127.0.0.1"));
}

TEST_F(ClientProxy, InvalidProxyUrlsAreRefused) {
  for (const char* url :
       {"socks5://p:1", "https://p:1", "p:1", "http://p:1/path", "http://%zz@p"}) {
    ClientOptions options = Through();
    options.proxy_url = url;
    const auto made = HttpClient::Create(pool_, std::move(options));
    ASSERT_FALSE(made) << url;
    EXPECT_EQ(made.error().code, ErrorCode::kInvalid);
  }
}

}  // namespace
}  // namespace berth::net

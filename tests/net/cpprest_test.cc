// Goal: an HTTP client without shared code understands Berth's server. Method: cpprestsdk's client,
// contained: against this server only, two threads, no redirects
// (docs/develop/decisions/0003-http.md says why the product does not use it).
#include <cpprest/containerstream.h>
#include <cpprest/http_client.h>
#include <pplx/threadpool.h>

#include "tests/net/server_fixture.h"

namespace berth::net {
namespace {

namespace http = web::http;
using http::client::http_client;
using http::client::http_client_config;

class Cpprest : public ServerFixture, public testing::WithParamInterface<const char*> {
 protected:
  static void SetUpTestSuite() {
    static const bool is_set = [] {
      crossplat::threadpool::initialize_with_threads(2);
      return true;
    }();
    EXPECT_TRUE(is_set);
  }

  void SetUp() override {
    ServerOptions options;
    if (IsTls()) options.tls = TestServerIdentity();
    StartServer(options);
  }

  static bool IsTls() { return std::string_view(GetParam()) == "https"; }

  http_client MakeClient() const {
    http_client_config config;
    config.set_max_redirects(0);
    config.set_timeout(std::chrono::seconds(10));
    config.set_ssl_context_callback([](boost::asio::ssl::context& context) {
      const std::string& pem = TestAuthority().certificate_chain_pem;
      context.add_certificate_authority(boost::asio::buffer(pem.data(), pem.size()));
    });
    return http_client(std::string(GetParam()) + "://localhost:" + std::to_string(port()), config);
  }

  static std::string Body(http::http_response response) {
    return response.extract_utf8string(true).get();
  }
};

TEST_P(Cpprest, CpprestReadsAnswersOfTheServer) {
  http_client client = MakeClient();
  for (int round = 0; round < 5; ++round) {
    const auto got = client.request(http::methods::GET, "/echo?a=b").get();
    EXPECT_EQ(got.status_code(), 200);
    EXPECT_EQ(Body(got), "GET /echo?a=b ");
  }
  const std::string body(200'000, 'b');
  EXPECT_EQ(Body(client.request(http::methods::POST, "/echo", body).get()), "POST /echo " + body);
  EXPECT_EQ(Body(client.request(http::methods::GET, "/big?3000000").get()).size(), 3'000'000U);
  const auto head = client.request(http::methods::HEAD, "/big?12345").get();
  EXPECT_EQ(head.headers().content_length(), 12345U);
  EXPECT_EQ(client.request(http::methods::DEL, "/drop").get().status_code(), 500);
}

TEST_P(Cpprest, SendsChunkedBodies) {
  http_client client = MakeClient();
  http::http_request request(http::methods::PUT);
  request.set_request_uri("/echo");
  // A stream of unknown length goes out in chunks.
  request.set_body(concurrency::streams::bytestream::open_istream(std::string(100'000, 'c')));
  request.headers().remove("Content-Length");
  EXPECT_EQ(Body(client.request(request).get()), "PUT /echo " + std::string(100'000, 'c'));
}

TEST_P(Cpprest, ReadsAStreamAsItArrives) {
  http_client client = MakeClient();
  auto response = client.request(http::methods::GET, "/stream").get();  // before any chunk
  EXPECT_EQ(response.status_code(), 200);
  const auto stream = WaitForStreams(1)[0];
  for (int round = 0; round < 10; ++round) {
    const std::string event(static_cast<std::size_t>(round * 1000 + 1), 'e');
    ASSERT_TRUE(stream->Write(event + "\n"));
    concurrency::streams::container_buffer<std::string> line;
    response.body().read_line(line).get();
    EXPECT_EQ(line.collection(), event);
  }
  stream->Close();
  EXPECT_TRUE(WaitForGone(1));
  response.content_ready().get();
}

TEST_P(Cpprest, ManyRequestsAreAnsweredAtOnce) {
  http_client client = MakeClient();
  std::vector<pplx::task<http::http_response>> tasks;
  for (int count = 0; count < 30; ++count) {
    tasks.push_back(client.request(http::methods::GET, "/" + std::to_string(count)));
  }
  for (std::size_t count = 0; count < tasks.size(); ++count) {
    EXPECT_EQ(Body(tasks[count].get()), "GET /" + std::to_string(count) + " ");
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, Cpprest, testing::Values("http", "https"));

}  // namespace
}  // namespace berth::net
